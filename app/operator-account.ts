import { userInfo } from 'node:os'

/**
 * The account of the operating system that runs a command. A container with any user id may have no user name. Then this
 * returns the number.
 */
export function operatorAccount(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}
