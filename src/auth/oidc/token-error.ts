import { errors } from "jose";
import { ErrorCode, JoustError } from "../../foundation/errors.js";

/** Code 16. `reason` completes the sentence "the token ...". */
export const invalidToken = (reason: string): JoustError =>
  new JoustError(ErrorCode.Unauthenticated, `the token ${reason}`);

/** Translates the failure of a verification to one that the client sees. */
export function tokenError(error: unknown): unknown {
  if (error instanceof JoustError || !(error instanceof errors.JOSEError)) return error;
  if (error instanceof errors.JWTExpired) {
    return invalidToken("has expired: get a new one from the identity provider");
  }
  if (error instanceof errors.JWTClaimValidationFailed) return invalidToken(claimReason(error));
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) {
    return invalidToken("must be signed with an asymmetric algorithm, such as RS256 or ES256");
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return invalidToken("is signed with a key that the identity provider does not publish");
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return invalidToken("must name its key in `kid`: the identity provider has several keys");
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return invalidToken("has an invalid signature");
  }
  return invalidToken("is not a valid JWT");
}

function claimReason({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (reason === "missing") return `must have the claim \`${claim}\``;
  if (claim === "aud") return "is for another audience: get one for the audience of this server";
  if (claim === "nbf") return "is not valid yet: compare the clocks of the provider and the server";
  return `has an invalid claim \`${claim}\``;
}
