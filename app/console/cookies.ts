import type { FastifyRequest } from 'fastify'

interface CookieOptions {
  readonly sameSite: 'Strict' | 'Lax'
  readonly maxAgeSeconds: number
}

/** `__Host-`: only this host may set it, for all paths, over a secure connection. Browsers count loopback as one. */
export function cookieText(
  name: `__Host-${string}`,
  value: string,
  { sameSite, maxAgeSeconds }: CookieOptions,
): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; Secure; SameSite=${sameSite}`
}

export function cookieOf({ headers }: FastifyRequest, name: string): string | undefined {
  const values = (headers.cookie ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=')
    return pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : []
  })
  // A browser sends one of each such name. With two, neither is certain.
  return values.length === 1 ? values[0] : undefined
}
