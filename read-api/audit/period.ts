import { invalidMember } from '../../platform/http/problems.ts'

/**
 * An empty answer would read as: nothing happened.
 * @throws Problem `validation-failed` for a period that ends before it begins
 */
export function requirePeriod({ from, to }: { readonly from?: string; readonly to?: string }): void {
  if (from !== undefined && to !== undefined && Date.parse(from) > Date.parse(to))
    throw invalidMember('/from', 'must not be after `to`', 'order')
}
