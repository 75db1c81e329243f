//! What the server knows of the client behind a connection.
//!
//! Places for connections and calls are bounded, so no client may hold them for nothing. A connection without a call ends
//! after a while: soon, until the server has identified a caller on it. Until then it is the connection of a guest, and
//! an address has few places for guests.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::lock::lock;

/// Connections of one address without an identified caller.
pub const MOST_GUESTS: usize = 64;

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
    /// Calls in flight.
    calls: AtomicUsize,
    idle_since: Mutex<Instant>,
    /// `None` once a caller is identified.
    guest: Mutex<Option<GuestPlace>>,
}

impl Client {
    pub fn new(address: Option<SocketAddr>, patience: Patience, guest: GuestPlace) -> Self {
        Self(Arc::new(State {
            address,
            patience,
            is_identified: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            idle_since: Mutex::new(Instant::now()),
            guest: Mutex::new(Some(guest)),
        }))
    }

    pub fn address(&self) -> Option<SocketAddr> {
        self.0.address
    }

    pub fn patience(&self) -> Patience {
        self.0.patience
    }

    /// The server has identified a caller on this connection.
    pub fn identified(&self) {
        self.0.is_identified.store(true, Ordering::Relaxed);
        lock(&self.0.guest).take();
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

/// Counts the connections of guests.
#[derive(Default)]
pub struct Guests(Mutex<HashMap<IpAddr, usize>>);

impl Guests {
    /// A place for a connection of an address; `None` if the address has no free one.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<GuestPlace> {
        let network = network_of(address);
        let mut counts = lock(&self.0);
        let count = counts.entry(network).or_default();
        if *count >= MOST_GUESTS {
            return None;
        }
        *count += 1;
        Some(GuestPlace {
            guests: self.clone(),
            network,
        })
    }
}

/// A place for a connection without an identified caller.
pub struct GuestPlace {
    guests: Arc<Guests>,
    network: IpAddr,
}

impl Drop for GuestPlace {
    fn drop(&mut self) {
        let mut counts = lock(&self.guests.0);
        if let Some(count) = counts.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.network);
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
        let guests = Arc::<Guests>::default();
        let mut places: Vec<_> = (0..MOST_GUESTS)
            .map(|_| guests.enter(at("10.0.0.1")).unwrap())
            .collect();
        assert!(guests.enter(at("10.0.0.1")).is_none());
        assert!(guests.enter(at("::ffff:10.0.0.1")).is_none());
        assert!(guests.enter(at("10.0.0.2")).is_some());
        places.pop();
        assert!(guests.enter(at("10.0.0.1")).is_some());
        drop(places);
        assert!(lock(&guests.0).is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let guests = Arc::<Guests>::default();
        let _places: Vec<_> = (0..MOST_GUESTS)
            .map(|last| guests.enter(at(&format!("2001:db8::{last:x}"))).unwrap())
            .collect();
        assert!(guests.enter(at("2001:db8::ffff")).is_none());
        assert!(guests.enter(at("2001:db8:0:1::1")).is_some());
    }

    #[tokio::test]
    async fn a_connection_expires_without_a_call() {
        let guests = Arc::<Guests>::default();
        let patience = Patience {
            guest: Duration::ZERO,
            ..Patience::default()
        };
        let place = guests.enter(at("10.0.0.1")).unwrap();
        let client = Client::new(None, patience, place);
        assert!(client.expires() <= Instant::now());
        let call = client.begin_call();
        client.identified();
        assert!(lock(&guests.0).is_empty());
        tokio::time::sleep(Duration::from_millis(5)).await;
        let before = Instant::now();
        assert!(client.expires() >= before + patience.idle);
        drop(call);
        let expires = client.expires();
        assert!(expires >= before + patience.idle && expires <= Instant::now() + patience.idle);
    }
}
