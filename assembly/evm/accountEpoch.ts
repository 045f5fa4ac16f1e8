// How often the world may have changed since the run began. A record of an account is current while its epoch is this one.

export let accountEpoch: u32 = 1

/** To be called when balances, bytecode or the existence of accounts may have changed in the world: their records must be read again. */
export function accountsChanged(): void {
  accountEpoch++
}

/** To be called when no record is left. */
export function resetAccountEpoch(): void {
  accountEpoch = 1
}
