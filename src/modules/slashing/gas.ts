/** Gas of the module's messages; unjailing changes a validator's place and power. */
export const SLASHING_GAS = { unjail: 40_000n, updateParams: 12_000n } as const
