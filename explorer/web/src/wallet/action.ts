import type { VoteOption } from '../format.ts'

/** Actions with a wallet of either kind. Amounts are acoin; accounts 0x…, validators coinvaloper1…. */
export type Action =
  | { readonly kind: 'send'; readonly to: Account; readonly amount: bigint }
  | { readonly kind: 'call'; readonly to: Account; readonly data: `0x${string}`; readonly amount: bigint }
  | { readonly kind: 'delegate'; readonly validator: string; readonly amount: bigint }
  | { readonly kind: 'undelegate'; readonly validator: string; readonly amount: bigint }
  | { readonly kind: 'redelegate'; readonly from: string; readonly to: string; readonly amount: bigint }
  | {
      readonly kind: 'cancelUnbonding'
      readonly validator: string
      readonly amount: bigint
      /** block in which it began */
      readonly height: number
    }
  | { readonly kind: 'claim'; readonly validators: readonly string[] }
  | { readonly kind: 'vote'; readonly proposal: number; readonly options: readonly WeightedOption[] }
  | { readonly kind: 'deposit'; readonly proposal: number; readonly amount: bigint }
  | { readonly kind: 'propose'; readonly proposal: NewProposal; readonly deposit: bigint }

/** An account in its two spellings. */
export interface Account {
  /** 0x…, checksummed */
  readonly address: string
  /** coin1… */
  readonly bech32: string
}

/** Numbers of the options in messages of both kinds. */
export const OPTION_NUMBERS: Readonly<Record<VoteOption, number>> = { yes: 1, abstain: 2, no: 3, noWithVeto: 4 }

export interface WeightedOption {
  readonly option: VoteOption
  /** a decimal like "0.7"; those of a vote sum to 1 */
  readonly weight: string
}

export interface NewProposal {
  readonly title: string
  readonly summary: string
  /** a link or a text; the chain wants one where there are no messages */
  readonly metadata: string
  readonly isExpedited: boolean
  /** what governance does when it passes, as JSON of protobuf: each has its type in `@type` */
  readonly messages: readonly Readonly<Record<string, unknown>>[]
}

/** acoin that an action takes from the balance, without its fee. */
export function spentBy(action: Action): bigint {
  switch (action.kind) {
    case 'send':
    case 'delegate':
    case 'deposit':
      return action.amount
    case 'propose':
      return action.deposit
    default:
      return 0n
  }
}

/** Functions that an action needs. */
export interface Cost {
  readonly gas: bigint
  /** acoin, about: an Ethereum wallet sets the price itself */
  readonly fee: bigint
}

/** A connected wallet, with one of its accounts. */
export interface Wallet {
  /** as the person knows it */
  readonly name: string
  /** 0x… or coin1… */
  readonly address: string
  /** false: its owner has chosen another network in it */
  readonly isOnChain: boolean
  /** Asks its owner to change to this chain, and to add it before where the wallet does not know it. */
  switchChain(): Promise<void>
  /** @throws why the chain would refuse it */
  estimate(action: Action): Promise<Cost>
  /**
   * Asks its owner to sign, and sends.
   * @returns hash of the transaction, 0x…
   */
  submit(action: Action, cost: Cost): Promise<string>
}
