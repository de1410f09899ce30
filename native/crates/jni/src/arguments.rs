//! Reads the arguments of a call, and fills the arrays that Java passes for more than one result.

use std::path::PathBuf;

use jni::JNIEnv;
use jni::objects::{JByteArray, JLongArray, JString};

use crate::error::CallError;

/// One call from Java, with access to its objects.
pub(crate) struct Call<'local> {
    pub(crate) env: JNIEnv<'local>,
}

impl Call<'_> {
    pub(crate) fn text(&mut self, text: &JString<'_>) -> Result<String, CallError> {
        Ok(self.env.get_string(text)?.into())
    }

    pub(crate) fn path(&mut self, path: &JString<'_>) -> Result<PathBuf, CallError> {
        Ok(PathBuf::from(self.text(path)?))
    }

    /// `None` for an empty string.
    pub(crate) fn optional_path(&mut self, path: &JString<'_>) -> Result<Option<PathBuf>, CallError> {
        Ok(Some(self.path(path)?).filter(|path| !path.as_os_str().is_empty()))
    }

    pub(crate) fn bytes(&self, array: &JByteArray<'_>) -> Result<Vec<u8>, CallError> {
        Ok(self.env.convert_byte_array(array)?)
    }

    pub(crate) fn length(&self, array: &JLongArray<'_>) -> Result<usize, CallError> {
        Ok(self.env.get_array_length(array)? as usize)
    }

    pub(crate) fn longs(&self, array: &JLongArray<'_>) -> Result<Vec<i64>, CallError> {
        let mut longs = vec![0; self.length(array)?];
        self.env.get_long_array_region(array, 0, &mut longs)?;
        Ok(longs)
    }

    /// The longs of an array that holds `N` for each of some things; `what` names them.
    pub(crate) fn records<const N: usize>(
        &self,
        array: &JLongArray<'_>,
        what: &str,
    ) -> Result<Vec<[i64; N]>, CallError> {
        let longs = self.longs(array)?;
        let (records, rest) = longs.as_chunks::<N>();
        if !rest.is_empty() {
            return Err(CallError::invalid(format!(
                "{} longs do not describe {what}, which take {N} each",
                longs.len()
            )));
        }
        Ok(records.to_vec())
    }

    /// Runs what may call Java, as the release callbacks of a producer do. Java must not be called while an exception
    /// is pending: one that is, is thrown again afterwards.
    pub(crate) fn with_nothing_thrown(&mut self, work: impl FnOnce()) -> Result<(), CallError> {
        if !self.env.exception_check()? {
            work();
            return Ok(());
        }
        let thrown = self.env.exception_occurred()?;
        self.env.exception_clear()?;
        work();
        Ok(self.env.throw(thrown)?)
    }

    /// Writes `longs` to the start of `array`, which must have room for them.
    pub(crate) fn fill(&self, array: &JLongArray<'_>, longs: &[i64]) -> Result<(), CallError> {
        Ok(self.env.set_long_array_region(array, 0, longs)?)
    }
}

/// `value` as a type that may not hold it; `what` is its name in the error.
pub(crate) fn number<T: TryFrom<i64>>(value: impl Into<i64>, what: &str) -> Result<T, CallError> {
    let value = value.into();
    T::try_from(value).map_err(|_| CallError::invalid(format!("{what} is {value}")))
}
