/** The methods of an address, for 405 and its Allow header. Used only if no route was found. */
export interface MethodIndex {
  add(pattern: string, methods: string | readonly string[]): void
  /** Sorted; empty for an unknown address. */
  of(url: string): readonly string[]
}

export function createMethodIndex(): MethodIndex {
  const known = new Map<string, Set<string>>()
  // Most processes never need them.
  const expressions = new Map<string, RegExp>()
  function matches(pattern: string, path: string): boolean {
    const expression = expressions.get(pattern) ?? expressionOf(pattern)
    expressions.set(pattern, expression)
    return expression.test(path)
  }
  return {
    add(pattern, methods) {
      const entry = known.get(pattern) ?? new Set<string>()
      for (const method of [methods].flat()) entry.add(method)
      known.set(pattern, entry)
    },
    of(url) {
      const path = url.split('?', 1)[0] ?? ''
      const found = [...known].filter(([pattern]) => matches(pattern, path)).flatMap(([, methods]) => [...methods])
      return [...new Set(found)].sort()
    },
  }
}

function expressionOf(pattern: string): RegExp {
  const segments = pattern.split('/').map((segment) => {
    if (segment.startsWith(':')) return '[^/]+'
    return segment === '*' ? '.*' : segment.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${segments.join('/')}$`)
}
