import type { Metadata } from '@grpc/grpc-js'
import { accessDenied } from '../wire/errors.ts'
import { isMetastream, originalStreamOf, type AclRight } from '../streams/stream-metadata.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import { DefaultAcl } from './default-acl.ts'
import { ADMINS, ANONYMOUS, EVERYONE, hasRole, isAdmin, isOperator, type Identity } from './identity.ts'
import type { Accounts } from './users.ts'

/** An action on a stream that needs a right. */
export type StreamAction = 'read' | 'write' | 'delete'

const ALL = '$all'

const RIGHTS: Record<StreamAction, AclRight> = { read: '$r', write: '$w', delete: '$d' }
/** The access list of a stream also grants the rights to its metadata stream. Nobody may delete a metadata stream. */
const METADATA_RIGHTS: Record<StreamAction, AclRight | undefined> = { read: '$mr', write: '$mw', delete: undefined }

/** Identifies callers and checks their rights. Without accounts everyone may do everything. */
export class AccessControl {
  readonly accounts: Accounts | undefined
  private readonly store: StreamStore
  private readonly defaults: DefaultAcl | undefined
  private readonly callers = new WeakMap<Metadata, Identity>()

  constructor(store: StreamStore, accounts: Accounts | undefined) {
    this.store = store
    this.accounts = accounts
    this.defaults = accounts === undefined ? undefined : new DefaultAcl(store)
  }

  /** Stores the caller of a call, keyed by the headers that the call's handler gets. */
  identify(call: Metadata, caller: Identity): void {
    this.callers.set(call, caller)
  }

  /** Name of the caller for operators. Empty for an anonymous caller. */
  nameOf(call: Metadata): string {
    if (this.accounts === undefined) return EVERYONE
    const caller = this.callerOf(call)
    return caller.kind === 'user' ? caller.login : ''
  }

  /** Throws CallError unless the caller may do this to a stream. The stream `$all` stands for all events. */
  requireStream(call: Metadata, action: StreamAction, stream: string): void {
    if (!this.allowsStream(call, action, stream)) throw accessDenied()
  }

  allowsStream(call: Metadata, action: StreamAction, stream: string): boolean {
    return this.defaults === undefined || this.isAllowed(this.callerOf(call), action, stream, this.defaults)
  }

  /** Throws CallError unless the caller may manage groups of persistent subscriptions. */
  requireOperator(call: Metadata): void {
    if (this.accounts !== undefined && !isOperator(this.callerOf(call))) throw accessDenied()
  }

  private callerOf(call: Metadata): Identity {
    return this.callers.get(call) ?? ANONYMOUS
  }

  private isAllowed(caller: Identity, action: StreamAction, named: string, defaults: DefaultAcl): boolean {
    if (caller.kind === 'anonymous' || named === '' || (named === ALL && action !== 'read')) return false
    const isMeta = isMetastream(named)
    const right = isMeta ? METADATA_RIGHTS[action] : RIGHTS[action]
    if (right === undefined) return false
    if (isAdmin(caller)) return true
    const roles = this.rolesFor(right, isMeta ? originalStreamOf(named) : named, defaults)
    return roles.some((role) => role === ALL || hasRole(caller, role))
  }

  /**
   * Roles of the stream's own access list, else those of `$settings`. The last default is everyone for ordinary streams
   * and administrators for system streams.
   */
  private rolesFor(right: AclRight, stream: string, { current }: DefaultAcl): string[] {
    const isSystem = stream.startsWith('$')
    const setting = isSystem ? current.system : current.user
    return this.store.durableMetadata(stream).acl?.[right] ?? setting?.[right] ?? [isSystem ? ADMINS : ALL]
  }
}
