/** Whether a header Prefer (RFC 7240) asks for a reply before a job has ended. */
export const prefersAsync = (prefer: string): boolean =>
  prefer.split(",").some((preference) => preference.trim().toLowerCase() === "respond-async");
