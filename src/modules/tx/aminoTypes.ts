import { ANY_TYPES, type AnyType } from '../messages.ts'
import {
  Ed25519PubKey,
  EthSecp256k1PubKey,
  FOREIGN_ETH_SECP256K1_PUB_KEYS,
  LegacyAminoPubKey,
  Secp256k1PubKey,
} from './publicKey.ts'

/** What amino JSON needs to know beyond the message tables: options of the SDK's .proto files. */

/**
 * Fields with the option `amino.dont_omitempty` that are not written anyway (as numbers of the SDK and nested messages are): an
 * empty list is null there. Lists of coins that are not named here have `legacy_coins` too: they are always lists.
 */
export const ALWAYS_WRITTEN: Readonly<Record<string, readonly string[]>> = {
  'cosmos.bank.v1beta1.MsgMultiSend': ['inputs', 'outputs'],
  'cosmos.gov.v1.MsgDeposit': ['proposal_id', 'amount'],
  'cosmos.gov.v1.MsgVote': ['proposal_id'],
  'cosmos.gov.v1.MsgVoteWeighted': ['proposal_id'],
  'cosmos.gov.v1.Params': ['min_deposit', 'expedited_min_deposit'],
  'cosmos.gov.v1beta1.MsgDeposit': ['proposal_id'],
  'cosmos.gov.v1beta1.MsgVoteWeighted': ['proposal_id', 'options'],
  'cosmos.params.v1beta1.ParameterChangeProposal': ['changes'],
  'cosmos.slashing.v1beta1.MsgUnjail': ['validator_addr'],
}

/** The name of a message's oneof, and the amino names of its members by field. */
export const ONEOFS: Readonly<
  Record<string, { readonly group: string; readonly types: Readonly<Record<string, string>> }>
> = {
  'cosmos.staking.v1beta1.StakeAuthorization': {
    group: 'Validators',
    types: {
      allow_list: 'cosmos-sdk/StakeAuthorization/AllowList',
      deny_list: 'cosmos-sdk/StakeAuthorization/DenyList',
    },
  },
}

/** Fields that amino JSON calls otherwise (`amino.field_name`). */
const FIELD_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'cosmos.slashing.v1beta1.MsgUnjail': { validator_addr: 'address' },
}

/** A field's name in amino JSON. @param messageName e.g. `cosmos.bank.v1beta1.MsgSend` */
export function aminoFieldName(messageName: string, jsonName: string): string {
  return FIELD_NAMES[messageName]?.[jsonName] ?? jsonName
}

/** Keys that amino JSON writes as their bytes alone. */
const KEYS: readonly AnyType[] = [
  { type: Secp256k1PubKey, aminoName: 'tendermint/PubKeySecp256k1' },
  { type: Ed25519PubKey, aminoName: 'tendermint/PubKeyEd25519' },
  ...[EthSecp256k1PubKey, ...FOREIGN_ETH_SECP256K1_PUB_KEYS].map((type) => ({
    type,
    aminoName: 'os/PubKeyEthSecp256k1',
  })),
]
export const KEY_TYPES: ReadonlySet<string> = new Set(KEYS.map(({ type }) => type.typeUrl))

/** What an Any inside a message may hold besides messages, by type URL. */
export const AMINO_TYPES: ReadonlyMap<string, AnyType> = new Map([
  ...ANY_TYPES,
  ...[...KEYS, { type: LegacyAminoPubKey, aminoName: 'tendermint/PubKeyMultisigThreshold' }].map(
    (entry) => [entry.type.typeUrl, entry] as const,
  ),
])
