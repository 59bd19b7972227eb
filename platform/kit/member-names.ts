/** The member that a name in snake_case has in code: `patient_id` is `patientId`. Other names stay as they are. */
export type MemberName<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<MemberName<Tail>>}`
  : Name

export function memberName<Name extends string>(name: Name): MemberName<Name> {
  // The type states the same replacement.
  return name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as MemberName<Name>
}

/** A name as a table, a record or a query has it, and the member of the code that holds its value. */
export interface NamePair {
  readonly name: string
  readonly member: string
}

const pairs = new WeakMap<object, readonly NamePair[]>()

/** The name pairs of an object's own members, in their order. They are built once for each object. */
export function namePairsOf(named: object): readonly NamePair[] {
  const known = pairs.get(named)
  if (known !== undefined) return known
  const built = Object.keys(named).map((name) => ({ name, member: memberName(name) }))
  pairs.set(named, built)
  return built
}
