//! Tests of what is presented, in one program, so that it is linked once. A test belongs in the file of its subject.

mod answers;
mod any_run;
mod bars;
mod bless;
mod browser;
mod chromium;
mod content_security;
mod doctor;
mod hash;
mod many_cpus;
mod misreadings;
mod new_section;
mod numbers;
mod overviews;
mod plot_files;
mod plots;
mod published;
mod recorded;
mod reports;
mod script_data;
mod shown;
mod synthetic;
mod terminal;
mod verdicts;
