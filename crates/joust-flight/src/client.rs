//! What the server knows of the client behind a connection.
//!
//! Places for connections and calls are bounded, so no client may hold them for nothing. A connection without a call ends
//! after a while: soon, until the server has identified a caller on it. Until then it is the connection of a guest, and
//! an address has few places for guests. After that it is a connection of its caller, and a caller has a share of all.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tonic::Status;

use crate::lock::lock;

/// Connections of one address without an identified caller.
pub const MOST_GUESTS: usize = 64;
/// Connections of one caller: the others of the server stay for other callers.
pub const MOST_OF_CALLER: usize = 256;

/// How long the server waits for a client.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For the next call, before a caller is identified on the connection.
    pub guest: Duration,
    /// For the next call, after it.
    pub idle: Duration,
    /// For the first message of a call.
    pub first_message: Duration,
    /// For each further message of a call.
    pub message: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            guest: Duration::from_secs(10),
            idle: Duration::from_secs(600),
            first_message: Duration::from_secs(30),
            message: Duration::from_secs(300),
        }
    }
}

/// The client of a connection. Clones share the state.
#[derive(Clone)]
pub struct Client(Arc<State>);

struct State {
    address: Option<SocketAddr>,
    patience: Patience,
    is_identified: AtomicBool,
    /// Its caller has too many others.
    is_refused: AtomicBool,
    /// Calls in flight.
    calls: AtomicUsize,
    idle_since: Mutex<Instant>,
    owner: Mutex<Owner>,
    callers: Arc<Callers>,
}

/// Whose place the connection has. A proxy may send calls of several callers: the first one counts.
enum Owner {
    Guest { _place: SharePlace<IpAddr> },
    Caller { _place: SharePlace<String> },
}

impl Client {
    pub fn new(
        address: Option<SocketAddr>,
        limits: &ConnectionLimits,
        guest: SharePlace<IpAddr>,
    ) -> Self {
        Self(Arc::new(State {
            address,
            patience: limits.patience,
            is_identified: AtomicBool::new(false),
            is_refused: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            idle_since: Mutex::new(Instant::now()),
            owner: Mutex::new(Owner::Guest { _place: guest }),
            callers: limits.callers.clone(),
        }))
    }

    pub fn address(&self) -> Option<SocketAddr> {
        self.0.address
    }

    pub fn patience(&self) -> Patience {
        self.0.patience
    }

    /// The server has identified a caller on this connection. `RESOURCE_EXHAUSTED` if the caller has too many others: the
    /// connection stays that of a guest, and ends when it has no call, so that it does not keep guests out.
    pub fn identified(&self, caller: &str) -> Result<(), Status> {
        let mut owner = lock(&self.0.owner);
        if matches!(*owner, Owner::Caller { .. }) {
            return Ok(());
        }
        let Some(place) = self.0.callers.enter(caller.to_string()) else {
            self.0.is_refused.store(true, Ordering::Relaxed);
            return Err(Status::resource_exhausted(format!(
                "the caller has {MOST_OF_CALLER} connections; close one of them, or send the call over it"
            )));
        };
        *owner = Owner::Caller { _place: place };
        self.0.is_identified.store(true, Ordering::Relaxed);
        self.0.is_refused.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// The connection has a call until the result is dropped.
    pub fn begin_call(&self) -> OpenCall {
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        OpenCall(self.clone())
    }

    /// When the server closes the connection, unless a call begins.
    pub fn expires(&self) -> Instant {
        let Patience { guest, idle, .. } = self.0.patience;
        let is_identified = self.0.is_identified.load(Ordering::Relaxed);
        let patience = if is_identified { idle } else { guest };
        match self.0.calls.load(Ordering::SeqCst) {
            0 if self.0.is_refused.load(Ordering::Relaxed) => Instant::now(),
            0 => *lock(&self.0.idle_since) + patience,
            _ => Instant::now() + patience,
        }
    }
}

/// A call in flight.
pub struct OpenCall(Client);

impl Drop for OpenCall {
    fn drop(&mut self) {
        let state = &self.0.0;
        *lock(&state.idle_since) = Instant::now();
        state.calls.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What new connections get.
pub struct ConnectionLimits {
    pub guests: Guests,
    pub callers: Arc<Callers>,
    pub patience: Patience,
}

impl ConnectionLimits {
    pub fn new(patience: Patience) -> Self {
        Self {
            guests: Guests(Shares::new(MOST_GUESTS)),
            callers: Shares::new(MOST_OF_CALLER),
            patience,
        }
    }
}

/// The connections of each identified caller.
pub type Callers = Shares<String>;

/// The connections of each address without an identified caller.
pub struct Guests(Arc<Shares<IpAddr>>);

impl Guests {
    /// A place for a connection of an address; `None` if the address has no free one.
    pub fn enter(&self, address: IpAddr) -> Option<SharePlace<IpAddr>> {
        self.0.enter(network_of(address))
    }
}

/// Counts connections by their owner. No owner has more than its share.
pub struct Shares<Key> {
    most: usize,
    counts: Mutex<HashMap<Key, usize>>,
}

impl<Key: Clone + Eq + Hash> Shares<Key> {
    fn new(most: usize) -> Arc<Self> {
        let counts = Mutex::default();
        Arc::new(Self { most, counts })
    }

    fn enter(self: &Arc<Self>, key: Key) -> Option<SharePlace<Key>> {
        let mut counts = lock(&self.counts);
        let count = counts.entry(key.clone()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(SharePlace {
            shares: self.clone(),
            key,
        })
    }
}

/// A place in the share of an owner.
pub struct SharePlace<Key: Eq + Hash> {
    shares: Arc<Shares<Key>>,
    key: Key,
}

impl<Key: Eq + Hash> Drop for SharePlace<Key> {
    fn drop(&mut self) {
        let mut counts = lock(&self.shares.counts);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

/// What one client controls: an IPv4 address, or the 64 bits of an IPv6 network.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    #[test]
    fn an_address_has_a_limited_number_of_guests() {
        let guests = ConnectionLimits::new(Patience::default()).guests;
        let mut places: Vec<_> = (0..MOST_GUESTS)
            .map(|_| guests.enter(at("10.0.0.1")).unwrap())
            .collect();
        assert!(guests.enter(at("10.0.0.1")).is_none());
        assert!(guests.enter(at("::ffff:10.0.0.1")).is_none());
        assert!(guests.enter(at("10.0.0.2")).is_some());
        places.pop();
        assert!(guests.enter(at("10.0.0.1")).is_some());
        drop(places);
        assert!(lock(&guests.0.counts).is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let guests = ConnectionLimits::new(Patience::default()).guests;
        let _places: Vec<_> = (0..MOST_GUESTS)
            .map(|last| guests.enter(at(&format!("2001:db8::{last:x}"))).unwrap())
            .collect();
        assert!(guests.enter(at("2001:db8::ffff")).is_none());
        assert!(guests.enter(at("2001:db8:0:1::1")).is_some());
    }

    #[tokio::test]
    async fn a_caller_has_a_limited_number_of_connections() {
        let limits = ConnectionLimits::new(Patience::default());
        let connect = |number: usize| {
            let address = at(&format!("10.0.{}.{}", number / 200, number % 200));
            Client::new(None, &limits, limits.guests.enter(address).unwrap())
        };
        let mut clients: Vec<_> = (0..MOST_OF_CALLER).map(connect).collect();
        assert!(clients.iter().all(|one| one.identified("alice").is_ok()));
        // A later call over the same connection takes no other place.
        assert!(clients[0].identified("alice").is_ok());
        assert!(clients[0].identified("bob").is_ok());
        let other = connect(MOST_OF_CALLER);
        let refused = other.identified("alice").unwrap_err();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        assert_eq!(lock(&limits.guests.0.counts).len(), 1);
        assert!(other.expires() <= Instant::now());
        assert!(connect(MOST_OF_CALLER + 1).identified("bob").is_ok());
        clients.pop();
        assert!(other.identified("alice").is_ok());
        assert!(other.expires() > Instant::now());
        drop((clients, other));
        assert!(lock(&limits.callers.counts).is_empty());
    }

    #[tokio::test]
    async fn a_connection_expires_without_a_call() {
        let patience = Patience {
            guest: Duration::ZERO,
            ..Patience::default()
        };
        let limits = ConnectionLimits::new(patience);
        let place = limits.guests.enter(at("10.0.0.1")).unwrap();
        let client = Client::new(None, &limits, place);
        assert!(client.expires() <= Instant::now());
        let call = client.begin_call();
        client.identified("alice").unwrap();
        assert!(lock(&limits.guests.0.counts).is_empty());
        tokio::time::sleep(Duration::from_millis(5)).await;
        let before = Instant::now();
        assert!(client.expires() >= before + patience.idle);
        drop(call);
        let expires = client.expires();
        assert!(expires >= before + patience.idle && expires <= Instant::now() + patience.idle);
    }
}
