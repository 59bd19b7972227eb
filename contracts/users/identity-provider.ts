/** The operations of the external identity provider that users need (specification 4.3). Each may be repeated. */
export interface IdentityProvider {
  /**
   * The account of the user: the one that has our user id as its attribute, or a new one.
   * @throws IdentityProviderUnavailableError, IdentityProviderRejectedError
   */
  create(account: NewAccount, signal: AbortSignal): Promise<{ readonly externalId: string }>
  /** The account that has our user id as its attribute; null if there is none. */
  get(userId: string, signal: AbortSignal): Promise<{ readonly externalId: string; readonly isEnabled: boolean } | null>
  /** The account has these values afterwards. A new address is not verified. */
  update(externalId: string, account: ChangedAccount, signal: AbortSignal): Promise<void>
  /** An account that does not exist counts as deleted. */
  delete(externalId: string, signal: AbortSignal): Promise<void>
  /** Sends the user a message, so each call counts. */
  resetPassword(externalId: string, signal: AbortSignal): Promise<void>
}

export interface NewAccount {
  readonly userId: string
  readonly email: string
  readonly displayName: string
  readonly locale: string | null
}

/** Null: as it is. */
export interface ChangedAccount {
  readonly userId: string
  readonly isEnabled: boolean
  readonly email: string | null
  readonly displayName: string | null
  readonly locale: string | null
}

/** The provider did not answer, or answered with a passing error. */
export class IdentityProviderUnavailableError extends Error {
  override readonly name = 'IdentityProviderUnavailableError'
  readonly isSafeToLog = true
  /** False if the operation certainly did not happen. */
  readonly mayHaveHappened: boolean

  constructor(message: string, { mayHaveHappened }: { readonly mayHaveHappened: boolean }) {
    super(message)
    this.mayHaveHappened = mayHaveHappened
  }
}

/** The provider refused the operation. It did not happen. The message contains no personal data. */
export class IdentityProviderRejectedError extends Error {
  override readonly name = 'IdentityProviderRejectedError'
  readonly isSafeToLog = true
  /** The provider does not admit the platform, whatever it asks. An operator corrects that. */
  readonly isOfPlatform: boolean

  constructor(message: string, { isOfPlatform = false }: { readonly isOfPlatform?: boolean } = {}) {
    super(message)
    this.isOfPlatform = isOfPlatform
  }
}
