/** Version 1 of `AssessmentSubmitted` knew submissions that came with the request itself only. */
export const submittedUpcasters = { 1: (data: unknown) => ({ ...Object(data), request: null }) }
