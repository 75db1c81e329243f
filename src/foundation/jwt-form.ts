/** Whether a credential has the form of a JWT: three parts in base64url, the first of which is a JSON object. */
export const looksLikeJwt = (credential: string): boolean =>
  credential.startsWith("eyJ") && /^[\w-]+\.[\w-]+\.[\w-]*$/.test(credential);
