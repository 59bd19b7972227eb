/** The member of a body at a path of names and indexes; undefined if there is none. */
export function at(body: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((value, name) => {
    if (typeof value !== 'object' || value === null) return undefined
    return Object.getOwnPropertyDescriptor(value, name)?.value
  }, body)
}

/** The same for a text. Throws if it is missing. */
export function textAt(body: unknown, ...path: readonly (string | number)[]): string {
  const value = at(body, ...path)
  if (typeof value !== 'string') throw new Error(`the answer has no text at ${path.join('.')}`)
  return value
}

/** An X-Actor-Context header (specification 5.5) for the development profile, where it is read and not verified. */
export function actorContext(
  orgId: string,
  permissions: readonly string[],
  userId = '0190b0a0-0000-7000-8000-000000000001',
  productIds: readonly string[] = [],
): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = {
    user_id: userId,
    external_user_id: 'demo-administrator',
    display_name: 'Demo Administrator',
    user_type: 'admin',
    org_id: orgId,
    role: 'administrator',
    permissions,
    product_ids: productIds,
  }
  return `${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.`
}
