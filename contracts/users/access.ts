/** The routes that administer users: an actor of an organisation, or a platform client by its scope. */
export const usersAdmin = { admin: 'users:admin', orPlatformScope: 'users:admin' } as const
