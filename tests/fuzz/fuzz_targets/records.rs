#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dpsparse_fuzz::records::run(data));
