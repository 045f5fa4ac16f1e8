/** Gas of the bank module's messages: two accounts for a send, about what EVM transfers of the same work cost. */
export const SEND_GAS = 12_000n
/** a multi-send before its outputs */
export const MULTI_SEND_GAS = 6000n
/** each output: an account, and three events */
export const OUTPUT_GAS = 8000n
/** one entry of parameters */
export const PARAMETER_GAS = 10_000n
