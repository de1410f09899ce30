//! The part of UCX's C interface that Sluice uses, as `ucp/api/ucp.h` declares it (API 1.14 and later), found in a
//! library that is opened at run time. Structures end where the oldest supported version's do: a `field_mask` tells UCX
//! which fields there are. A test compares them with the header where there is one.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::Library;

pub type Status = i8;
/// A status below 0 or 0 as a pointer, or the address of a request.
pub type StatusPtr = *mut c_void;

pub const OK: Status = 0;
pub const INPROGRESS: Status = 1;
pub const ERR_BUSY: Status = -15;

/// Opaque objects.
pub type Context = *mut c_void;
pub type Worker = *mut c_void;
pub type Ep = *mut c_void;
pub type Mem = *mut c_void;
pub type Rkey = *mut c_void;
pub type Config = *mut c_void;

pub const PARAM_FIELD_FEATURES: u64 = 1 << 0;
pub const PARAM_FIELD_MT_WORKERS_SHARED: u64 = 1 << 5;
pub const FEATURE_RMA: u64 = 1 << 1;
pub const FEATURE_WAKEUP: u64 = 1 << 4;
pub const FEATURE_AM: u64 = 1 << 6;

#[repr(C)]
pub struct Params {
    pub field_mask: u64,
    pub features: u64,
    pub request_size: usize,
    pub request_init: *const c_void,
    pub request_cleanup: *const c_void,
    pub tag_sender_mask: u64,
    pub mt_workers_shared: c_int,
    pub estimated_num_eps: usize,
    pub estimated_num_ppn: usize,
    pub name: *const c_char,
}

pub const WORKER_PARAM_FIELD_THREAD_MODE: u64 = 1 << 0;
pub const THREAD_MODE_SINGLE: c_uint = 0;

#[repr(C)]
pub struct WorkerParams {
    pub field_mask: u64,
    pub thread_mode: c_uint,
    pub cpu_mask: [u64; 16],
    pub events: c_uint,
    pub user_data: *mut c_void,
    pub event_fd: c_int,
    pub flags: u64,
    pub name: *const c_char,
    pub am_alignment: usize,
    pub client_id: u64,
}

pub const EP_PARAM_FIELD_REMOTE_ADDRESS: u64 = 1 << 0;
pub const EP_PARAM_FIELD_ERR_HANDLING_MODE: u64 = 1 << 1;
pub const EP_PARAM_FIELD_ERR_HANDLER: u64 = 1 << 2;
pub const ERR_HANDLING_MODE_PEER: c_uint = 1;

#[repr(C)]
pub struct ErrHandler {
    pub cb: Option<unsafe extern "C" fn(arg: *mut c_void, ep: Ep, status: Status)>,
    pub arg: *mut c_void,
}

#[repr(C)]
pub struct SockAddr {
    pub addr: *const c_void,
    pub addrlen: u32,
}

#[repr(C)]
pub struct EpParams {
    pub field_mask: u64,
    pub address: *const c_void,
    pub err_mode: c_uint,
    pub err_handler: ErrHandler,
    pub user_data: *mut c_void,
    pub flags: c_uint,
    pub sockaddr: SockAddr,
    pub conn_request: *mut c_void,
    pub name: *const c_char,
    pub local_sockaddr: SockAddr,
}

pub const EP_ATTR_FIELD_TRANSPORTS: u64 = 1 << 3;

/// `ucp_transport_entry_t`: both strings live as long as the endpoint is open.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TransportEntry {
    pub transport_name: *const c_char,
    pub device_name: *const c_char,
}

/// `ucp_transports_t`: the caller's array, its room, and the size of an entry.
#[repr(C)]
pub struct Transports {
    pub entries: *mut TransportEntry,
    pub num_entries: c_uint,
    pub entry_size: usize,
}

/// As large as `struct sockaddr_storage`, which holds any address.
#[repr(C, align(8))]
pub struct AnySockAddr(pub [u8; 128]);

#[repr(C)]
pub struct EpAttr {
    pub field_mask: u64,
    pub name: [c_char; 32],
    pub local_sockaddr: AnySockAddr,
    pub remote_sockaddr: AnySockAddr,
    pub transports: Transports,
    pub user_data: *mut c_void,
}

pub const ATTR_FIELD_MEMORY_TYPES: u64 = 1 << 2;

#[repr(C)]
pub struct ContextAttr {
    pub field_mask: u64,
    pub request_size: usize,
    pub thread_mode: c_uint,
    /// A bit for each type.
    pub memory_types: u64,
    pub name: [c_char; 32],
}

/// `ucs_memory_type_t`.
pub const MEMORY_TYPE_HOST: c_uint = 0;
pub const MEMORY_TYPE_CUDA: c_uint = 1;

pub const MEM_MAP_PARAM_FIELD_ADDRESS: u64 = 1 << 0;
pub const MEM_MAP_PARAM_FIELD_LENGTH: u64 = 1 << 1;
pub const MEM_MAP_PARAM_FIELD_FLAGS: u64 = 1 << 2;
pub const MEM_MAP_PARAM_FIELD_PROT: u64 = 1 << 3;
pub const MEM_MAP_PARAM_FIELD_MEMORY_TYPE: u64 = 1 << 4;
pub const MEM_MAP_NONBLOCK: c_uint = 1 << 0;
pub const MEM_MAP_PROT_LOCAL_READ: c_uint = 1 << 0;
pub const MEM_MAP_PROT_LOCAL_WRITE: c_uint = 1 << 1;
pub const MEM_MAP_PROT_REMOTE_READ: c_uint = 1 << 8;

#[repr(C)]
pub struct MemMapParams {
    pub field_mask: u64,
    pub address: *mut c_void,
    pub length: usize,
    pub flags: c_uint,
    pub prot: c_uint,
    pub memory_type: c_uint,
    pub exported_memh_buffer: *const c_void,
}

pub const OP_ATTR_FIELD_CALLBACK: u32 = 1 << 1;
pub const OP_ATTR_FIELD_USER_DATA: u32 = 1 << 2;
pub const OP_ATTR_FIELD_FLAGS: u32 = 1 << 4;
pub const OP_ATTR_FIELD_MEMORY_TYPE: u32 = 1 << 6;
pub const OP_ATTR_FIELD_MEMH: u32 = 1 << 8;
pub const EP_CLOSE_FLAG_FORCE: u32 = 1 << 0;
pub const AM_SEND_FLAG_EAGER: u32 = 1 << 1;

/// `ucp_send_nbx_callback_t`, which gets and closes have, too.
pub type SendCallback = unsafe extern "C" fn(request: *mut c_void, status: Status, user_data: *mut c_void);

#[repr(C)]
pub struct RequestParam {
    pub op_attr_mask: u32,
    pub flags: u32,
    pub request: *mut c_void,
    /// A union in C; of its callbacks this one has a use here.
    pub cb: Option<SendCallback>,
    pub datatype: u64,
    pub user_data: *mut c_void,
    pub reply_buffer: *mut c_void,
    pub memory_type: c_uint,
    pub recv_info: *mut c_void,
    pub memh: Mem,
}

pub const AM_HANDLER_PARAM_FIELD_ID: u64 = 1 << 0;
pub const AM_HANDLER_PARAM_FIELD_FLAGS: u64 = 1 << 1;
pub const AM_HANDLER_PARAM_FIELD_CB: u64 = 1 << 2;
pub const AM_HANDLER_PARAM_FIELD_ARG: u64 = 1 << 3;
pub const AM_FLAG_WHOLE_MSG: u32 = 1 << 0;

pub type AmCallback = unsafe extern "C" fn(
    arg: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    param: *const AmRecvParam,
) -> Status;

#[repr(C)]
pub struct AmRecvParam {
    pub recv_attr: u64,
    pub reply_ep: Ep,
}

pub const AM_RECV_ATTR_FLAG_RNDV: u64 = 1 << 17;

#[repr(C)]
pub struct AmHandlerParam {
    pub field_mask: u64,
    pub id: c_uint,
    pub flags: u32,
    pub cb: Option<AmCallback>,
    pub arg: *mut c_void,
}

/// Writes major, minor and release.
pub type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);

/// # Errors
/// It is no UCX.
///
/// # Safety
/// As [`Functions::of`].
pub unsafe fn get_version(library: &Library) -> Result<GetVersion, libloading::Error> {
    // SAFETY: the caller promises that the symbol has this type.
    unsafe { library.get(b"ucp_get_version\0") }.map(|symbol| *symbol)
}

/// Declares the table of functions and how it is filled from a library.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal: fn($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of one opened library; valid as long as it is.
        pub struct Functions {
            $($(#[$doc])* pub $name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl Functions {
            /// # Errors
            /// The library lacks one: it is no UCX, or a very old one.
            ///
            /// # Safety
            /// The library is UCX, so that the symbols have these types, and outlives the table.
            pub unsafe fn of(library: &Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the caller promises that the symbols have these types.
                    $($name: *unsafe { library.get($symbol) }?,)*
                })
            }
        }
    };
}

functions! {
    config_read = b"ucp_config_read\0": fn(*const c_char, *const c_char, *mut Config) -> Status;
    config_modify = b"ucp_config_modify\0": fn(Config, *const c_char, *const c_char) -> Status;
    config_release = b"ucp_config_release\0": fn(Config);
    init = b"ucp_init_version\0": fn(c_uint, c_uint, *const Params, Config, *mut Context) -> Status;
    cleanup = b"ucp_cleanup\0": fn(Context);
    context_query = b"ucp_context_query\0": fn(Context, *mut ContextAttr) -> Status;
    worker_create = b"ucp_worker_create\0": fn(Context, *const WorkerParams, *mut Worker) -> Status;
    worker_destroy = b"ucp_worker_destroy\0": fn(Worker);
    worker_get_address = b"ucp_worker_get_address\0": fn(Worker, *mut *mut c_void, *mut usize) -> Status;
    worker_release_address = b"ucp_worker_release_address\0": fn(Worker, *mut c_void);
    worker_progress = b"ucp_worker_progress\0": fn(Worker) -> c_uint;
    worker_get_efd = b"ucp_worker_get_efd\0": fn(Worker, *mut c_int) -> Status;
    worker_arm = b"ucp_worker_arm\0": fn(Worker) -> Status;
    set_am_handler = b"ucp_worker_set_am_recv_handler\0": fn(Worker, *const AmHandlerParam) -> Status;
    ep_create = b"ucp_ep_create\0": fn(Worker, *const EpParams, *mut Ep) -> Status;
    ep_query = b"ucp_ep_query\0": fn(Ep, *mut EpAttr) -> Status;
    ep_close = b"ucp_ep_close_nbx\0": fn(Ep, *const RequestParam) -> StatusPtr;
    mem_map = b"ucp_mem_map\0": fn(Context, *const MemMapParams, *mut Mem) -> Status;
    mem_unmap = b"ucp_mem_unmap\0": fn(Context, Mem) -> Status;
    rkey_pack = b"ucp_rkey_pack\0": fn(Context, Mem, *mut *mut c_void, *mut usize) -> Status;
    rkey_buffer_release = b"ucp_rkey_buffer_release\0": fn(*mut c_void);
    rkey_unpack = b"ucp_ep_rkey_unpack\0": fn(Ep, *const c_void, *mut Rkey) -> Status;
    rkey_destroy = b"ucp_rkey_destroy\0": fn(Rkey);
    get = b"ucp_get_nbx\0": fn(Ep, *mut c_void, usize, u64, Rkey, *const RequestParam) -> StatusPtr;
    am_send = b"ucp_am_send_nbx\0":
        fn(Ep, c_uint, *const c_void, usize, *const c_void, usize, *const RequestParam) -> StatusPtr;
    request_free = b"ucp_request_free\0": fn(*mut c_void);
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::mem::offset_of;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn size_of_field<T, F>(_: fn(&T) -> &F) -> usize {
        size_of::<F>()
    }

    /// What the compilers must agree on, as lines: ours, and a C program that prints its own.
    macro_rules! layouts {
        ($($ours:ident = $theirs:literal { $($field:ident),* })*) => {{
            let (mut lines, mut program) = (String::new(), String::new());
            $($(
                let field = stringify!($field);
                let size = size_of_field(|it: &$ours| &it.$field);
                let _ = writeln!(lines, "{}.{field} at {} has {size}", $theirs, offset_of!($ours, $field));
                let _ = writeln!(
                    program,
                    "printf(\"{0}.{field} at %zu has %zu\\n\", offsetof({0}, {field}), sizeof((({0} *)0)->{field}));",
                    $theirs
                );
            )*)*
            (lines, program)
        }};
    }

    #[test]
    fn structures_are_those_of_the_header() {
        let wheel = format!("../../../build/ucx/wheel-{}/libucx/include", std::env::consts::ARCH);
        let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join(wheel);
        let folders = [bundled.as_path(), Path::new("/usr/include")];
        let Some(include) = folders.into_iter().find(|folder| folder.join("ucp/api/ucp.h").exists()) else {
            eprintln!("skipped: structures_are_those_of_the_header: no ucp.h");
            return;
        };
        let (expected, prints) = layouts! {
            Params = "ucp_params_t" { field_mask, features, request_size, mt_workers_shared, estimated_num_eps, name }
            ContextAttr = "ucp_context_attr_t" { field_mask, request_size, thread_mode, memory_types, name }
            WorkerParams = "ucp_worker_params_t" {
                field_mask, thread_mode, cpu_mask, events, user_data, event_fd, flags, name, am_alignment, client_id
            }
            ErrHandler = "ucp_err_handler_t" { cb, arg }
            EpParams = "ucp_ep_params_t" {
                field_mask, address, err_mode, err_handler, user_data, flags, sockaddr, conn_request, name,
                local_sockaddr
            }
            TransportEntry = "ucp_transport_entry_t" { transport_name, device_name }
            Transports = "ucp_transports_t" { entries, num_entries, entry_size }
            EpAttr = "ucp_ep_attr_t" { field_mask, name, local_sockaddr, remote_sockaddr, transports }
            MemMapParams = "ucp_mem_map_params_t" { field_mask, address, length, flags, prot, memory_type }
            RequestParam = "ucp_request_param_t" {
                op_attr_mask, flags, request, cb, datatype, user_data, reply_buffer, memory_type, recv_info, memh
            }
            AmRecvParam = "ucp_am_recv_param_t" { recv_attr, reply_ep }
            AmHandlerParam = "ucp_am_handler_param_t" { field_mask, id, flags, cb, arg }
        };
        let folder = std::env::temp_dir().join(format!("sluice-layout-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        let (source, program) = (folder.join("layout.c"), folder.join("layout"));
        let text = format!(
            "#include <stdio.h>\n#include <stddef.h>\n#include <ucp/api/ucp.h>\n\
             int main(void) {{\n{prints}return 0; }}\n"
        );
        std::fs::write(&source, text).expect("written");
        match Command::new("cc").arg("-I").arg(include).arg("-o").args([&program, &source]).status() {
            Ok(status) => assert!(status.success(), "cc: {status}"),
            Err(why) => return eprintln!("skipped: structures_are_those_of_the_header: no C compiler (cc): {why}"),
        }
        let printed = Command::new(&program).output().expect("runs").stdout;
        assert_eq!(String::from_utf8_lossy(&printed), expected);
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
