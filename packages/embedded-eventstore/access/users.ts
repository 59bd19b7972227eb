import { hash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { jsonOf } from '../json-text.ts'
import { LruMap } from '../streams/lru-map.ts'
import type { Identity } from './identity.ts'
import { hashPassword, isPassword, isPasswordHash } from './password-hash.ts'

/** One account: a line of the users file. */
export type User = { login: string; password: string; groups: string[] }

const PROVEN_KEPT = 1000
/** The largest number of passwords that wait for hashing. Each takes about 50 ms. */
const LONGEST_QUEUE = 100

/** Too many unverified passwords arrive at once. */
export class TooManyProofsError extends Error {}

/** Reads a users file with one JSON object per line. Throws Error with the number of a wrong line. */
export function readUsers(path: string): User[] {
  const users = new Map<string, User>()
  for (const [index, line] of readFileSync(path, 'utf8').split('\n').entries()) {
    if (line.trim() === '') continue
    const user = parseUser(line)
    if (user === undefined)
      throw new Error(`${path}, line ${index + 1}: expected {"login":"…","password":"scrypt$…","groups":["…"]}`)
    if (users.has(user.login)) throw new Error(`${path}, line ${index + 1}: ${user.login} occurs twice`)
    users.set(user.login, user)
  }
  if (users.size === 0) throw new Error(`${path} contains no user`)
  return [...users.values()]
}

/** A line for the users file. */
export async function userLine(login: string, password: string, groups: string[]): Promise<string> {
  return JSON.stringify({ login, password: await hashPassword(password), groups })
}

/** Verifies the credentials of callers. */
export class Accounts {
  private readonly users: Map<string, User>
  /** Verified passwords as keyed digests: clients send their password with every call. */
  private readonly proven = new LruMap<string, Identity>(PROVEN_KEPT)
  private readonly key = randomBytes(32).toString('hex')
  private queue: Promise<unknown> = Promise.resolve()
  private waiting = 0
  private readonly nobody: Promise<string>

  constructor(users: User[]) {
    this.users = new Map(users.map((user) => [user.login, user]))
    this.nobody = hashPassword(randomBytes(32).toString('hex'))
  }

  /** The user of these credentials if they were verified before. */
  known(login: string, password: string): Identity | undefined {
    return this.proven.get(this.digest(login, password))
  }

  /**
   * Resolves with the user of these credentials, or with undefined when they are wrong. Verifies one password at a
   * time, because hashing shares its threads with the syncs of the log. An unknown login takes as long as a wrong
   * password. Rejects with TooManyProofsError.
   */
  async prove(login: string, password: string): Promise<Identity | undefined> {
    if (this.waiting >= LONGEST_QUEUE) throw new TooManyProofsError('too many passwords wait for a check')
    this.waiting += 1
    const proof = this.queue.then(() => this.known(login, password) ?? this.compare(login, password))
    this.queue = proof.then(done, done)
    try {
      return await proof
    } finally {
      this.waiting -= 1
    }
  }

  private async compare(login: string, password: string): Promise<Identity | undefined> {
    const user = this.users.get(login)
    const isRight = await isPassword(password, user?.password ?? (await this.nobody))
    if (user === undefined || !isRight) return undefined
    const identity: Identity = { kind: 'user', login, groups: user.groups }
    this.proven.set(this.digest(login, password), identity)
    return identity
  }

  private digest(login: string, password: string): string {
    return hash('sha256', this.key + JSON.stringify([login, password]), 'base64')
  }
}

function done(): void {}

function parseUser(line: string): User | undefined {
  const value = jsonOf(line)
  if (typeof value !== 'object' || value === null || !('login' in value) || !('password' in value)) return undefined
  const { login, password } = value
  const groups: unknown = 'groups' in value ? value.groups : []
  if (typeof login !== 'string' || login === '' || login.includes(':')) return undefined
  if (typeof password !== 'string' || !isPasswordHash(password) || !isListOfText(groups)) return undefined
  return { login, password, groups }
}

function isListOfText(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
