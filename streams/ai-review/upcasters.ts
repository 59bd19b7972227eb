/** Version 1 of `AiReviewCancelled` knew withdrawn consents only, and no request. */
export const cancelledUpcasters = { 1: (data: unknown) => ({ ...Object(data), request: null }) }
