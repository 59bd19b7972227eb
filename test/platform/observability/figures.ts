/** The lines of one family without its comments; of a histogram with all suffixes. */
export function linesOf(text: string, name: string): readonly string[] {
  const family = new RegExp(`^${name}(_bucket|_sum|_count)?[{ ]`)
  return text.split('\n').filter((line) => family.test(line))
}

/** Each series without its value, sorted. Fails for a line that the text format 0.0.4 does not allow. */
export function seriesIn(text: string): readonly string[] {
  const lines = text.split('\n').filter((line) => line !== '' && !/^# (HELP|TYPE) [a-z_\d]+ ./.test(line))
  return lines
    .map((line) => {
      const series = /^([a-z_\d]+(?:\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)+\})?) (?:[-+\d.e]+|[+-]Inf|Nan)$/.exec(line)?.[1]
      if (series === undefined) throw new Error(`no line of the text format: ${line}`)
      return series
    })
    .toSorted()
}

/** Names of all labels. */
export function labelsIn(text: string): ReadonlySet<string> {
  const names = seriesIn(text).flatMap((series) => [...series.matchAll(/[{,]([a-z]+)="/g)].map(([, name = '']) => name))
  return new Set(names)
}
