//! Exports Rust functions as native methods of the Java classes in `io.sluice.nativebridge`.

/// Declares the native methods of one Java class: Java's name, the Rust function that does the work, and the types of
/// the arguments and of the result as the JVM passes them.
///
/// Each is entered through [`crate::guard::guard`]: the function gets a [`crate::arguments::Call`] and the arguments,
/// and returns a `Result` whose value is an [`crate::guard::Answer`] with the declared Java type.
macro_rules! native_methods {
    ($class:ident { $($method:ident = $function:ident($($argument:ident: $kind:ty),* $(,)?) -> $java:ty;)* }) => {$(
        const _: () = {
            #[unsafe(export_name = concat!(
                "Java_io_sluice_nativebridge_", stringify!($class), "_", stringify!($method)
            ))]
            extern "system" fn exported(
                env: jni::JNIEnv<'_>,
                _: jni::objects::JClass<'_>,
                $($argument: $kind),*
            ) -> $java {
                $crate::guard::guard(env, |call| $function(call, $($argument),*))
            }
        };
    )*};
}

pub(crate) use native_methods;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn nothing_is_exported_without_the_guard() {
        let exports_something =
            |text: &str| ["no_mangle", "export_name", "extern \"system\""].map(|s| text.contains(s));
        for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("sources") {
            let path = file.expect("a file").path();
            let found = exports_something(&fs::read_to_string(&path).expect("text")).contains(&true);
            assert_eq!(found, path.ends_with("exports.rs"), "{}", path.display());
        }
    }
}
