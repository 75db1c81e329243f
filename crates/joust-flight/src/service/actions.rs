//! `DoAction`: prepared statements, cancellation, session options.

use arrow_flight::sql::{
    ActionCancelQueryRequest, ActionCancelQueryResult, ActionClosePreparedStatementRequest,
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, Any,
    ProstMessageExt,
};
use arrow_flight::{
    Action, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightInfo,
};
use bytes::Bytes;
use futures::stream;
use prost::Message;
use tonic::{Response, Status};

use super::commands::{check_transaction, packed};
use super::{Messages, Reply, Service, one};
use crate::access::Call;
use crate::backend::Statement;
use crate::status::{invalid, unserved};
use crate::{info, session, ticket};

/// The actions, and what each does.
pub const TYPES: [(&str, &str); 7] = [
    (
        "CreatePreparedStatement",
        "Prepares a statement. ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult",
    ),
    (
        "ClosePreparedStatement",
        "Closes a prepared statement. ActionClosePreparedStatementRequest, no result",
    ),
    (
        "CancelFlightInfo",
        "Cancels a statement that runs. CancelFlightInfoRequest, CancelFlightInfoResult",
    ),
    (
        "CancelQuery",
        "The former name of CancelFlightInfo. ActionCancelQueryRequest, ActionCancelQueryResult",
    ),
    (
        "SetSessionOptions",
        "Chooses `schema`, the namespace of unqualified names. SetSessionOptionsRequest, SetSessionOptionsResult",
    ),
    (
        "GetSessionOptions",
        "The options `catalog` and `schema`. GetSessionOptionsRequest, GetSessionOptionsResult",
    ),
    (
        "CloseSession",
        "Resets the options. CloseSessionRequest, CloseSessionResult",
    ),
];

impl Service {
    pub(super) async fn act(
        &self,
        call: &Call,
        action: Action,
    ) -> Reply<Messages<arrow_flight::Result>> {
        let body = &action.body;
        match action.r#type.as_str() {
            "CreatePreparedStatement" => {
                let result = self.prepare(call, unpack(body)?).await?;
                Ok(result_of(packed(&result)))
            }
            "ClosePreparedStatement" => {
                let request: ActionClosePreparedStatementRequest = unpack(body)?;
                let handle = &request.prepared_statement_handle;
                self.prepared.close(&call.context.caller, handle);
                Ok(Response::new(Box::pin(stream::empty())))
            }
            "CancelFlightInfo" => {
                let request: CancelFlightInfoRequest = decode(body)?;
                let info = request
                    .info
                    .ok_or_else(|| invalid("the request has no info"))?;
                let status = self.cancel(call, &info)?;
                Ok(result_of(
                    CancelFlightInfoResult::new(status).encode_to_vec(),
                ))
            }
            "CancelQuery" => {
                let request: ActionCancelQueryRequest = unpack(body)?;
                let info: FlightInfo = decode(&request.info)?;
                // Both messages have the same numbers.
                let result = self.cancel(call, &info)? as i32;
                Ok(result_of(packed(&ActionCancelQueryResult { result })))
            }
            "SetSessionOptions" => Ok(with_cookie(session::set(body)?)),
            "GetSessionOptions" => {
                let schema = &call.context.scope.namespace;
                Ok(result_of(session::get(schema)))
            }
            "CloseSession" => Ok(with_cookie(session::close()?)),
            other => {
                let name: String = other.chars().take(64).collect();
                Err(unserved(&format!("the action {name}")))
            }
        }
    }

    async fn prepare(
        &self,
        call: &Call,
        request: ActionCreatePreparedStatementRequest,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        check_transaction(request.transaction_id.as_ref())?;
        let context = &call.context;
        let statement = Statement {
            sql: request.query,
            open: true,
            ..Statement::default()
        };
        let described = self.backend.describe(context, &statement).await?;
        let scope = context.scope.clone();
        let created = self.prepared.create(&context.caller, statement.sql, scope);
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: created?.into(),
            dataset_schema: info::encoded(&info::sent(described.schema))?,
            parameter_schema: info::encoded(&described.parameters)?,
        })
    }

    fn cancel(&self, call: &Call, info: &FlightInfo) -> Result<CancelStatus, Status> {
        let execution = ticket::execution(info)?;
        let caller = &call.context.caller;
        // Without one it has ended, or has not begun.
        Ok(self
            .streams
            .cancel(caller, &execution)
            .unwrap_or(CancelStatus::NotCancellable))
    }
}

fn result_of(body: impl Into<Bytes>) -> Response<Messages<arrow_flight::Result>> {
    Response::new(one(arrow_flight::Result::new(body)))
}

fn with_cookie((body, cookie): session::Changed) -> Response<Messages<arrow_flight::Result>> {
    let mut response = result_of(body);
    if let Some(cookie) = cookie {
        response.metadata_mut().insert("set-cookie", cookie);
    }
    response
}

fn unpack<M: ProstMessageExt>(body: &Bytes) -> Result<M, Status> {
    let any: Any = decode(body)?;
    let message = any.unpack().ok().flatten();
    message.ok_or_else(|| invalid(format!("the body must be an Any with {}", M::type_url())))
}

fn decode<M: Message + Default>(body: &Bytes) -> Result<M, Status> {
    M::decode(body.clone()).map_err(|_| invalid("the body of the action cannot be decoded"))
}
