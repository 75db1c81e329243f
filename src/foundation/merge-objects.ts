/**
 * The same as `{ ...object, ...more }`, for hot paths. V8 (Node 20) creates a new hidden class for each
 * object that gets a member after a spread. That takes microseconds and makes later reads slow.
 */
export const mergeObjects = <A extends object, B extends object>(object: A, more: B): A & B =>
  Object.assign({}, object, more);
