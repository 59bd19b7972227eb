/** A value that is made when it is first asked for: a process uses a part of what its modules declare. */
export function atFirstUse<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => (made ??= make())
}
