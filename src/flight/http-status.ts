/** The HTTP status for each gRPC code, by the name of the code (google/rpc/code.proto). */
const statuses: Readonly<Record<string, number>> = {
  Ok: 200,
  InvalidArgument: 400,
  FailedPrecondition: 400,
  OutOfRange: 400,
  Unauthenticated: 401,
  PermissionDenied: 403,
  NotFound: 404,
  AlreadyExists: 409,
  Aborted: 409,
  ResourceExhausted: 429,
  Cancelled: 499,
  Unimplemented: 501,
  Unavailable: 503,
  DeadlineExceeded: 504,
};

/** The HTTP status of a call that ended with a gRPC code: audit log and traces have one kind of status. */
export const httpStatus = (code: string): number => statuses[code] ?? 500;
