//! tardy's interface to the kernel.
//!
//! This is the only crate with `unsafe`, libc and raw kernel files; everything that it exports is safe to call. It has
//! no knowledge of runs, series or histograms.

pub mod cell64;
pub mod child;
pub mod clock;
pub mod clock_changes;
pub mod clock_discipline;
pub mod clock_properties;
pub mod confinement;
pub mod counters;
pub mod counting_allocator;
pub mod cycle_counter;
pub mod dma_latency;
pub mod emulator_port;
pub mod file_cache;
pub mod files;
pub mod gpio;
pub mod gpio_registers;
pub mod gpio_sysfs;
pub mod icmp;
pub mod in_memory_program;
pub mod internet_checksum;
pub mod kernel_files;
pub mod kernel_log;
pub mod kernel_modules;
pub mod landlock;
pub mod links;
pub mod memory;
pub mod memory_devices;
pub mod mounts;
pub mod netlink;
pub mod network;
pub mod packet;
pub mod perf_event;
pub mod pins_log;
pub mod privileges;
pub mod processes;
pub mod programs;
pub mod qdiscs;
pub mod ring;
pub mod scheduling;
pub mod shared_map;
pub mod shootdown;
pub mod signal_exchange;
pub mod signals;
pub mod smi_counter;
pub mod stamped_socket;
pub mod system_calls;
pub mod taprio;
pub mod terminal;
pub mod thread_usage;
pub mod trace_files;
pub mod uname;
mod vdso;
pub mod waiting;
pub mod work_limits;
