/** The methods of arrow.flight.protocol.FlightService: calls are counted by them. */
export const flightOperations: readonly string[] = [
  "DoAction",
  "DoExchange",
  "DoGet",
  "DoPut",
  "GetFlightInfo",
  "GetSchema",
  "Handshake",
  "ListActions",
  "ListFlights",
  "PollFlightInfo",
];
