//! The instructions that kernels are compiled for, and which of them this machine has.

use std::sync::OnceLock;

#[cfg(test)]
use super::tests;

/// The instructions that kernels are compiled for, each a superset of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// What every machine has.
    Portable,
    /// `avx2`.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// `avx2` and `avx512f`, `avx512bw`, `avx512dq`, `avx512vl`.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The widest instructions that this machine has, asked for once: kernels are called for few records at a time.
pub(super) fn detected() -> Width {
    static DETECTED: OnceLock<Width> = OnceLock::new();
    *DETECTED.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            let wider = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            return if wider { Width::Avx512 } else { Width::Avx2 };
        }
        Width::Portable
    })
}

/// The instructions to use: the widest that were detected. A test may ask for narrower ones, never for wider.
pub(in crate::numeric) fn width() -> Width {
    #[cfg(test)]
    return detected().min(tests::LIMIT.get());
    #[cfg(not(test))]
    detected()
}

/// Whether the widest kernels may add products to sums by one instruction (`avx512vnni`), asked for once.
#[cfg(target_arch = "x86_64")]
pub(super) fn adds_products() -> bool {
    static DETECTED: OnceLock<bool> = OnceLock::new();
    let detected = *DETECTED.get_or_init(|| is_x86_feature_detected!("avx512vnni"));
    #[cfg(test)]
    return detected && tests::ADDS_PRODUCTS.get();
    #[cfg(not(test))]
    detected
}

/// Compiles a generic body again with AVX-512 and with AVX2 and calls the widest copy that the machine has.
macro_rules! dispatch {
    ([$($generics:tt)*], $body:ident, ($($name:ident: $type:ty),*) -> $result:ty) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            fn widest<$($generics)*>($($name: $type),*) -> $result {
                $body($($name),*)
            }
            #[target_feature(enable = "avx2")]
            fn wide<$($generics)*>($($name: $type),*) -> $result {
                $body($($name),*)
            }
            use $crate::numeric::kernel::width::{Width, width};
            match width() {
                Width::Portable => {}
                // SAFETY: the features were detected.
                Width::Avx2 => return unsafe { wide($($name),*) },
                // SAFETY: the features were detected.
                Width::Avx512 => return unsafe { widest($($name),*) },
            }
        }
        $body($($name),*)
    }};
}

pub(in crate::numeric) use dispatch;

/// Does `work`, compiled for wide vectors too; it should be `#[inline(always)]`.
pub fn for_wide_vectors<F: FnOnce()>(work: F) {
    #[inline(always)]
    fn body<F: FnOnce()>(work: F) {
        work();
    }
    dispatch!([F: FnOnce()], body, (work: F) -> ())
}
