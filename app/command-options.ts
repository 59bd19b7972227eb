import { InvalidArgumentError, type Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { isUuid } from '../platform/http/formats.ts'

/** Adds the options and commands of one word of the command line. `choose` receives what was asked for. */
export type Define<Order> = (command: Command, choose: (order: Order) => void) => void

/** Adds an example to the help of a command. `line` is everything after `platform`. */
export function example(command: CommandUnknownOpts, line: string): void {
  command.addHelpText('after', `\nExample:\n  npm run platform -- ${line}`)
}

/** Reads a value, or says what it must be. */
export function must<Value>(be: string, read: (text: string) => Value | undefined): (text: string) => Value {
  return (text) => {
    const value = read(text)
    if (value === undefined) throw new InvalidArgumentError(`It must be ${be}.`)
    return value
  }
}

export const uuid = must('a UUID', (text) => (isUuid(text) ? text.toLowerCase() : undefined))
export const filled = must('at least one character', (text) => (text === '' ? undefined : text))

/** A number in decimal digits. */
export const numberFrom = (least: number, greatest: number) =>
  must(`a number from ${least} to ${greatest}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    return value >= least && value <= greatest ? value : undefined
  })

export const textUpTo = (most: number) =>
  must(`1 to ${most} characters`, (text) => (text.trim() === '' || text.trim().length > most ? undefined : text.trim()))

/** For an option that may be repeated. Its initial value is an empty list. */
export function each(text: string, before: readonly string[]): readonly string[] {
  return [...before, text]
}
