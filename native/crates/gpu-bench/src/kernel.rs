//! A kernel that keeps a GPU busy for as long as it is told, with a result that can be checked.

use sluice_cuda_sim::{Kernel, KernelCall};

pub(crate) const NAME: &str = "spin";

const FACTOR: u64 = 6_364_136_223_846_793_005;
const ADDEND: u64 = 1_442_695_040_888_963_407;

/// `words[i]` becomes the generator's number `turns` turns after it; one thread a word. For compute capability 7.5 and
/// later; the driver compiles it when it is loaded.
pub(crate) const PTX: &str = "\
.version 7.5
.target sm_75
.address_size 64

.visible .entry spin(.param .u64 words_at, .param .u32 words, .param .u32 turns)
{
    .reg .pred %p<3>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [words_at];
    ld.param.u32 %r1, [words];
    ld.param.u32 %r2, [turns];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r6, 8;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u64 %rd5, [%rd4];
TURN:
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra STORE;
    mad.lo.s64 %rd5, %rd5, 6364136223846793005, 1442695040888963407;
    sub.u32 %r2, %r2, 1;
    bra TURN;
STORE:
    st.global.u64 [%rd4], %rd5;
DONE:
    ret;
}
";

/// The same for the simulated driver.
pub(crate) const SIMULATED: Kernel = Kernel { name: NAME, parameter_bytes: &[8, 4, 4], function: spin, raw: false };

/// Factor and addend of that many turns together: a word becomes `word * factor + addend`.
pub(crate) fn together(turns: u32) -> (u64, u64) {
    (0..turns).fold((1, 0), |(factor, addend), _| {
        (FACTOR.wrapping_mul(factor), FACTOR.wrapping_mul(addend).wrapping_add(ADDEND))
    })
}

unsafe extern "C" fn spin(call: *const KernelCall) {
    // SAFETY: a call of the simulator's.
    let call = unsafe { &*call };
    // SAFETY: the parameters that the kernel declares.
    let (address, words, turns) =
        unsafe { (call.parameter::<u64>(0), call.parameter::<u32>(1) as usize, call.parameter::<u32>(2)) };
    let start = call.memory(address, words * 8, true).cast::<u64>();
    if start.is_null() {
        return;
    }
    let (factor, addend) = together(turns);
    for i in 0..words {
        // SAFETY: the range is allocated, and nobody else uses it while the kernel runs.
        unsafe { start.add(i).write(start.add(i).read().wrapping_mul(factor).wrapping_add(addend)) };
    }
}
