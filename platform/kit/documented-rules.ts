// Rules for the keyword `documented` of schemas: OpenAPI shows them, and code after the validation checks them.

/** Objects that fit one of these are refused: members that exclude or need each other. */
export function noneOf(...refused: readonly object[]) {
  return { not: { anyOf: refused } }
}

/** A list without equal items. */
export const distinctItems = { uniqueItems: true } as const
