/** Makes a value at its first use, because a process uses only some of the values that its modules declare. */
export function atFirstUse<Value extends object | string>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => (made ??= make())
}
