//! A program for an emulated arm64 machine without an operating system, which makes semihosting requests from user mode
//! (Arm, "Semihosting for AArch32 and AArch64").

use tardy_init::messages::Message;

/// Where the program is loaded: above the device tree of QEMU's board.
const ADDRESS: u64 = 0x4020_0000;
/// The size of the ELF header and of one program header, after which the code begins.
const HEADER_BYTES: u64 = 64 + 56;

const SYS_OPEN: u16 = 0x01;
const SYS_WRITE: u16 = 0x05;
const SYS_REMOVE: u16 = 0x0e;
const SYS_RENAME: u16 = 0x0f;
const SYS_SYSTEM: u16 = 0x12;
const SYS_EXIT: u16 = 0x18;
/// ADP_Stopped_ApplicationExit.
const APPLICATION_EXIT: u64 = 0x2_0026;

/// A request to the host.
pub(crate) enum Request<'a> {
    /// Opens a file for reading.
    Read(&'a str),
    /// Creates or truncates a file.
    Write(&'a str),
    /// Removes a file.
    Remove(&'a str),
    /// Renames a file.
    Rename(&'a str, &'a str),
    /// Runs a command.
    System(&'a str),
}

/// An ELF file of a program that makes the requests, each with a name, in their order. It prints "NAME 1" for a request that was
/// refused, otherwise "NAME 0", as messages of a guest of the lab, and ends the machine.
pub(crate) fn program(requests: &[(&str, Request<'_>)]) -> Vec<u8> {
    // The data follow the code, whose length does not depend on their addresses.
    let code_bytes = code(requests, 0).0.len() as u64 * 4;
    let (code, data) = code(requests, ADDRESS + HEADER_BYTES + code_bytes);
    let mut content: Vec<u8> = code.into_iter().flat_map(u32::to_le_bytes).collect();
    content.extend(data.bytes);
    elf(&content)
}

fn code(requests: &[(&str, Request<'_>)], data_address: u64) -> (Vec<u32>, Data) {
    let mut data = Data { address: data_address, bytes: Vec::new() };
    let mut code = Code::default();
    code.enter_user_mode();
    let console = open(&mut data, ":tt", 4);
    code.request(SYS_OPEN, console);
    code.0.push(0xaa00_03f4); // mov x20, x0
    for (name, request) in requests {
        let (operation, block) = match request {
            Request::Read(path) => (SYS_OPEN, open(&mut data, path, 0)),
            Request::Write(path) => (SYS_OPEN, open(&mut data, path, 4)),
            Request::Remove(path) => (SYS_REMOVE, named(&mut data, &[path])),
            Request::Rename(from, to) => (SYS_RENAME, named(&mut data, &[from, to])),
            Request::System(command) => (SYS_SYSTEM, named(&mut data, &[command])),
        };
        code.request(operation, block);
        code.set_x2_if_refused(operation);
        let message = Message::Output { text: format!("{name} X") }.line();
        let digit = message.iter().rposition(|byte| *byte == b'X').unwrap() as u64;
        let text = data.put(&message);
        code.store_x2(text + digit);
        print(&mut code, &mut data, text, message.len());
    }
    let end = Message::End { status: 0, error: None }.line();
    let text = data.put(&end);
    print(&mut code, &mut data, text, end.len());
    let exit = data.put_words(&[APPLICATION_EXIT, 0]);
    code.request(SYS_EXIT, exit);
    code.0.push(0x1400_0000); // b .
    (code.0, data)
}

fn open(data: &mut Data, path: &str, mode: u64) -> u64 {
    let name = data.put_text(path);
    data.put_words(&[name, mode, path.len() as u64])
}

/// A block of names and their lengths.
fn named(data: &mut Data, names: &[&str]) -> u64 {
    let words: Vec<u64> = names.iter().flat_map(|name| [data.put_text(name), name.len() as u64]).collect();
    data.put_words(&words)
}

/// Writes to the console, whose handle is in x20.
fn print(code: &mut Code, data: &mut Data, text: u64, length: usize) {
    let block = data.put_words(&[0, text, length as u64]);
    code.set(1, block);
    code.0.push(0xf900_0034); // str x20, [x1]
    code.request(SYS_WRITE, block);
}

/// Instructions. The numbers are those of the Arm Architecture Reference Manual.
#[derive(Default)]
struct Code(Vec<u32>);

impl Code {
    /// `register` = `value`, of at most 32 bits.
    fn set(&mut self, register: u32, value: u64) {
        let half = |shift: u32| ((value >> shift) as u32 & 0xffff) << 5 | register;
        self.0.push(0xd280_0000 | half(0)); // movz
        self.0.push(0xf2a0_0000 | half(16)); // movk …, lsl #16
    }

    /// Continues with the next instruction at EL0, interrupts masked.
    fn enter_user_mode(&mut self) {
        self.set(0, 0x3c0);
        self.0.push(0xd518_4000); // msr spsr_el1, x0
        let here = self.0.len() as u64;
        self.set(0, ADDRESS + HEADER_BYTES + (here + 4) * 4);
        self.0.push(0xd518_4020); // msr elr_el1, x0
        self.0.push(0xd69f_03e0); // eret
    }

    fn request(&mut self, operation: u16, block: u64) {
        self.set(0, operation.into());
        self.set(1, block);
        self.0.push(0xd45e_0000); // hlt #0xf000
    }

    /// x2 = '1' if the request failed, otherwise '0': open returns -1, the others a status that is not 0.
    fn set_x2_if_refused(&mut self, operation: u16) {
        match operation {
            SYS_OPEN => self.0.extend([0xb100_041f, 0x9a9f_17e2]), // cmn x0, #1; cset x2, eq
            _ => self.0.extend([0xf100_001f, 0x9a9f_07e2]),        // cmp x0, #0; cset x2, ne
        }
        self.0.push(0x9100_c042); // add x2, x2, #'0'
    }

    fn store_x2(&mut self, address: u64) {
        self.set(3, address);
        self.0.push(0x3900_0062); // strb w2, [x3]
    }
}

/// The program's data, aligned to 8 bytes: user mode has no memory management, which forbids other accesses.
struct Data {
    address: u64,
    bytes: Vec<u8>,
}

impl Data {
    fn put(&mut self, bytes: &[u8]) -> u64 {
        while !(self.address + self.bytes.len() as u64).is_multiple_of(8) {
            self.bytes.push(0);
        }
        let address = self.address + self.bytes.len() as u64;
        self.bytes.extend(bytes);
        address
    }

    fn put_text(&mut self, text: &str) -> u64 {
        let address = self.put(text.as_bytes());
        self.bytes.push(0);
        address
    }

    fn put_words(&mut self, words: &[u64]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(&bytes)
    }
}

/// An executable file with one segment.
fn elf(content: &[u8]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let length = HEADER_BYTES + content.len() as u64;
    file.extend([2u16, 183].map(u16::to_le_bytes).concat()); // executable, AArch64
    file.extend(1u32.to_le_bytes());
    file.extend([ADDRESS + HEADER_BYTES, 64, 0].map(u64::to_le_bytes).concat()); // entry, program headers
    file.extend(0u32.to_le_bytes());
    file.extend([64u16, 56, 1, 64, 0, 0].map(u16::to_le_bytes).concat());
    file.extend([1u32, 7].map(u32::to_le_bytes).concat()); // loaded; readable, writable, executable
    file.extend([0, ADDRESS, ADDRESS, length, length, 0x1000].map(u64::to_le_bytes).concat());
    file.extend(content);
    file
}
