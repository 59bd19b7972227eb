/** Version 1 of `AiReviewSlotClaimed` knew first claims of events only. */
export const claimedUpcasters = { 1: (data: unknown) => ({ ...Object(data), supersedes: null, request: null }) }
