//! Promises that the engine's threads settle.
//!
//! Node-API's own way gives each Promise a thread-safe function: a handle that the event loop makes, looks
//! at whenever any of them calls, and closes again, for each request. Here an event loop has one, which
//! is called once for all work that has ended since it was called last.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{PromiseRaw, ToNapiValue};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, JsError, Status, check_status, sys};

/// A Promise that waits, with what it waits for.
type Settle = Box<dyn FnOnce(&Env)>;
type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

thread_local! {
    /// Of the event loop that runs on this thread: Node gives a thread one environment.
    static LOOP: RefCell<Option<Loop>> = const { RefCell::new(None) };
}

/// The waiting Promises of one event loop.
struct Loop {
    env: sys::napi_env,
    ended: Arc<Ended>,
    waiting: HashMap<u64, Settle>,
    last: u64,
}

/// What has ended on the engine's threads and is not settled yet.
struct Ended {
    numbers: Mutex<Vec<u64>>,
    wake: Wake,
}

/// Dropped, it tells the event loop that work has ended, in whatever way.
pub struct End {
    number: u64,
    ended: Arc<Ended>,
}

impl Drop for End {
    fn drop(&mut self) {
        let mut numbers = self.ended.numbers();
        numbers.push(self.number);
        let is_first = numbers.len() == 1;
        drop(numbers);
        // Whoever was first has called for those that came after it too. An event loop that is gone
        // waits for nothing.
        if is_first {
            self.ended
                .wake
                .call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

impl Ended {
    fn numbers(&self) -> MutexGuard<'_, Vec<u64>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has `settle` called on this event loop after the end was dropped. Until then the process does not end
/// for want of work.
pub fn await_end(env: &Env, settle: impl FnOnce(&Env) + 'static) -> napi::Result<End> {
    LOOP.with_borrow_mut(|known| {
        let this = match known {
            Some(this) if this.env == env.raw() => this,
            other => other.insert(Loop::new(env)?),
        };
        if this.waiting.is_empty() {
            this.hold()?;
        }
        this.last += 1;
        this.waiting.insert(this.last, Box::new(settle));
        Ok(End {
            number: this.last,
            ended: this.ended.clone(),
        })
    })
}

impl Loop {
    fn new(env: &Env) -> napi::Result<Self> {
        let settle = env.create_function_from_closure::<(), (), _>("settle", |context| {
            settle_ended(context.env);
            Ok(())
        })?;
        let wake = settle
            .build_threadsafe_function::<()>()
            .weak::<true>()
            .build()?;
        Ok(Self {
            env: env.raw(),
            ended: Arc::new(Ended {
                numbers: Mutex::default(),
                wake,
            }),
            waiting: HashMap::new(),
            last: 0,
        })
    }

    /// Keeps the event loop running.
    fn hold(&self) -> napi::Result<()> {
        // SAFETY: the function is this environment's, and this is its thread.
        check_status!(unsafe { sys::napi_ref_threadsafe_function(self.env, self.ended.wake.raw()) })
    }

    /// Lets the event loop end when it has nothing else to do.
    fn let_go(&self) -> napi::Result<()> {
        // SAFETY: as above.
        check_status!(unsafe {
            sys::napi_unref_threadsafe_function(self.env, self.ended.wake.raw())
        })
    }
}

/// Settles what has ended.
fn settle_ended(env: &Env) {
    let numbers = LOOP.with_borrow(|known| {
        let ended = known.as_ref().map(|this| &this.ended);
        ended.map_or_else(Vec::new, |ended| std::mem::take(&mut *ended.numbers()))
    });
    for number in numbers {
        // Making a value may run JavaScript, which may ask for more.
        let settle = LOOP.with_borrow_mut(|known| known.as_mut()?.waiting.remove(&number));
        if let Some(settle) = settle {
            settle(env);
        }
    }
    LOOP.with_borrow(|known| {
        if let Some(this) = known.as_ref().filter(|this| this.waiting.is_empty()) {
            // An environment that is closing needs no leave.
            let _ = this.let_go();
        }
    });
}

/// A Promise's other end.
pub struct Deferred(sys::napi_deferred);

impl Deferred {
    pub fn new<V>(env: &Env) -> napi::Result<(Self, PromiseRaw<'_, V>)> {
        let (mut deferred, mut promise) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: both are written by the call before it returns.
        check_status!(unsafe { sys::napi_create_promise(env.raw(), &mut deferred, &mut promise) })?;
        Ok((Self(deferred), PromiseRaw::new(env.raw(), promise)))
    }

    /// Settles the Promise with what `make` makes, on the thread that made the Promise. What goes wrong in
    /// making it, a panic too, rejects this Promise and nothing else.
    pub fn settle<V: ToNapiValue>(self, env: &Env, make: impl FnOnce(&Env) -> napi::Result<V>) {
        let raw = env.raw();
        let made = catch_unwind(AssertUnwindSafe(|| {
            let value = make(env)?;
            // SAFETY: this is the environment's thread.
            unsafe { V::to_napi_value(raw, value) }
        }));
        let made = made.unwrap_or_else(|_| Err(napi::Error::from_reason("the engine failed")));
        // SAFETY: as above, and a deferred is used up by being settled. What fails here fails because the
        // environment is closing: nobody waits any more.
        unsafe {
            match made {
                Ok(value) => sys::napi_resolve_deferred(raw, self.0, value),
                Err(error) => {
                    // Whatever JavaScript threw would be in the way of all that follow.
                    let mut thrown = ptr::null_mut();
                    sys::napi_get_and_clear_last_exception(raw, &raw mut thrown);
                    let error = match error.status {
                        Status::PendingException => thrown,
                        _ => JsError::from(error).into_value(raw),
                    };
                    sys::napi_reject_deferred(raw, self.0, error)
                }
            };
        }
    }
}
