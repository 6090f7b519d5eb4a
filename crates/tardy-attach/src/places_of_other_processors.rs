//! Places in a program on processors whose stacks are not unwound: there are none.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use tardy_host::trace::tracefs::Tracefs;

use crate::reader::ProgramReader;

/// No value exists of this type.
#[derive(Debug)]
pub struct Places(Infallible);

impl Places {
    /// That there are none.
    ///
    /// # Errors
    /// Always.
    pub fn set_up(_tracefs: &Tracefs, _reader: &Rc<RefCell<ProgramReader>>) -> Result<Self, String> {
        Err("places in the program are known on x86-64 and 64-bit ARM only: stacks of other processors are not unwound; leave out \
             --places"
            .to_owned())
    }

    /// See the module of other processors.
    pub fn follow(&mut self, _pid: u32, _tid: u32, _interval_ns: u64) {
        match self.0 {}
    }

    /// See the module of other processors.
    pub fn end(&mut self, _tid: u32) {
        match self.0 {}
    }

    /// See the module of other processors.
    ///
    /// # Errors
    /// None.
    pub fn set_on(&self, _on: bool) -> Result<(), String> {
        match self.0 {}
    }

    /// See the module of other processors.
    pub fn read(&mut self) {
        match self.0 {}
    }

    /// See the module of other processors.
    pub fn place(&self, _tid: u32, _at_ns: u64) -> Option<String> {
        match self.0 {}
    }

    /// See the module of other processors.
    pub fn remarks(&self) -> Vec<String> {
        match self.0 {}
    }
}
