//! The live view of a run: a terminal that shows the numbers of each CPU while they are measured, and takes keys.
//!
//! tardy-live is a pure function from a state to lines; `screen.rs` draws them and reads keys. The supervisor calls both at its
//! tick, on its own CPU. Nothing here waits: a terminal that does not accept a frame is given the rest at a later tick.

mod screen;

pub(crate) use screen::LiveView;

/// Makes a panic restore the terminal before its message is printed. Release builds abort, without dropping the view.
pub(crate) fn restore_terminal_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tardy_sys::terminal::restore();
        print(panic);
    }));
}
