//! The Flight service: finds the command of a call and answers it.

mod actions;
mod commands;
mod rows;
mod updates;

use std::sync::Arc;

use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::metadata::{SqlInfoData, XdbcTypeInfoData};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use async_trait::async_trait;
use futures::stream::{self, BoxStream};
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status, Streaming};

use crate::access::{Call, call_of};
use crate::backend::Backend;
use crate::parameters::Budget;
use crate::prepared::PreparedStatements;
use crate::status::{internal, unserved};
use crate::streams::Streams;
use crate::{sql_info, types};

type Reply<T> = Result<Response<T>, Status>;
type Messages<T> = BoxStream<'static, Result<T, Status>>;

pub struct Service {
    backend: Arc<dyn Backend>,
    streams: Arc<Streams>,
    prepared: PreparedStatements,
    parameters: Budget,
    server_info: SqlInfoData,
    types: XdbcTypeInfoData,
}

impl Service {
    pub fn new(backend: Arc<dyn Backend>, streams: Arc<Streams>) -> Result<Self, FlightError> {
        let server_info = sql_info::server_info(backend.functions())?;
        Ok(Self {
            backend,
            streams,
            prepared: PreparedStatements::default(),
            parameters: Budget::default(),
            server_info,
            types: types::types()?,
        })
    }
}

/// Records a failure for the call's report, with its cause, which the transport does not pass on.
fn answered<T>(call: &Call, answer: Result<T, Status>) -> Result<T, Status> {
    if let Err(status) = &answer {
        call.running.end(status.clone());
    }
    answer
}

fn one<T: Send + 'static>(message: T) -> Messages<T> {
    Box::pin(stream::iter([Ok(message)]))
}

#[async_trait]
impl FlightService for Service {
    type HandshakeStream = Messages<HandshakeResponse>;
    type ListFlightsStream = Messages<FlightInfo>;
    type DoGetStream = Messages<FlightData>;
    type DoPutStream = Messages<PutResult>;
    type DoActionStream = Messages<arrow_flight::Result>;
    type ListActionsStream = Messages<ActionType>;
    type DoExchangeStream = Messages<FlightData>;

    /// The token is the caller's key: the access check has verified it.
    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Reply<Self::HandshakeStream> {
        let call = call_of(&request)?;
        let payload = call.token.clone().into_bytes().into();
        let mut response: Response<Self::HandshakeStream> = Response::new(one(HandshakeResponse {
            protocol_version: 0,
            payload,
        }));
        let bearer = MetadataValue::try_from(format!("Bearer {}", call.token)).map_err(internal);
        let bearer = answered(&call, bearer)?;
        response.metadata_mut().insert("authorization", bearer);
        Ok(response)
    }

    async fn list_flights(&self, request: Request<Criteria>) -> Reply<Self::ListFlightsStream> {
        let refused = Err(unserved("ListFlights; GetTables lists the tables"));
        answered(&call_of(&request)?, refused)
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Reply<FlightInfo> {
        let call = call_of(&request)?;
        let info = self.info(&call, request.into_inner()).await;
        answered(&call, info).map(Response::new)
    }

    /// The info is complete at once: a statement runs when its ticket is redeemed.
    async fn poll_flight_info(&self, request: Request<FlightDescriptor>) -> Reply<PollInfo> {
        let call = call_of(&request)?;
        let info = self.info(&call, request.into_inner()).await;
        let poll = PollInfo::new().with_info(answered(&call, info)?);
        let poll = poll.try_with_progress(1.0).map_err(internal);
        answered(&call, poll).map(Response::new)
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Reply<SchemaResult> {
        let call = call_of(&request)?;
        let schema = self.schema(&call, request.into_inner()).await;
        answered(&call, schema).map(Response::new)
    }

    async fn do_get(&self, request: Request<Ticket>) -> Reply<Self::DoGetStream> {
        let call = call_of(&request)?;
        let rows = self.redeem(&call, request.into_inner()).await;
        answered(&call, rows).map(Response::new)
    }

    async fn do_exchange(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Reply<Self::DoExchangeStream> {
        let call = call_of(&request)?;
        let rows = self.exchange(&call, request.into_inner()).await;
        answered(&call, rows).map(Response::new)
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Reply<Self::DoPutStream> {
        let call = call_of(&request)?;
        let result = self.put(&call, request.into_inner()).await;
        let app_metadata = answered(&call, result)?.into();
        Ok(Response::new(one(PutResult { app_metadata })))
    }

    async fn do_action(&self, request: Request<Action>) -> Reply<Self::DoActionStream> {
        let call = call_of(&request)?;
        let result = self.act(&call, request.into_inner()).await;
        answered(&call, result)
    }

    async fn list_actions(&self, _: Request<Empty>) -> Reply<Self::ListActionsStream> {
        let types = actions::TYPES.map(|(name, description)| {
            Ok(ActionType {
                r#type: name.to_string(),
                description: description.to_string(),
            })
        });
        Ok(Response::new(Box::pin(stream::iter(types))))
    }
}
