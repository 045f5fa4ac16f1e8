import { withBalances } from '../chain/genesis/addGenesisAccount.ts'
import { consensusRecord, genesisCoins, selfDelegation, stakingRecord } from '../chain/genesis/createGenesis.ts'
import { canonicalJson } from '../chain/genesis/genesis.ts'
import { BASE_DENOM, BONDED_POOL } from '../chain/genesis/genesisConstants.ts'
import { checkGenesis } from '../chain/genesis/genesisRules.ts'
import { type Genesis, GenesisError, type GenesisVestingAccount } from '../chain/genesis/genesisSchema.ts'
import { evmChainIdOf } from '../config/chainIds.ts'
import { MESSAGES } from '../modules/messages.ts'
import { isSdkError } from '../modules/sdkError.ts'
import { MsgCreateValidator } from '../modules/staking/messages.ts'
import { checkMinimumRate, checkNewValidator } from '../modules/staking/operatorActions.ts'
import type { CommissionRates } from '../modules/staking/types.ts'
import { decodeNativeTransaction } from '../modules/tx/decodeNativeTransaction.ts'
import { Ed25519PubKey } from '../modules/tx/publicKey.ts'
import { AuthInfo, Tx, TxBody, TxRaw } from '../modules/tx/types.ts'
import { delegatedParts } from '../modules/vesting/delegatedCoins.ts'
import { genesisSchedule } from '../modules/vesting/initVesting.ts'
import { BECH32_OPERATOR, moduleAddress, parseAddress, toBech32 } from '../primitives/address.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { formatDecimal, parseDecimal } from '../primitives/decimal.ts'
import { type Json, type JsonContext, JsonFormError } from '../primitives/protoScalars.ts'
import { vestingAt } from '../state/vesting.ts'

/** A genesis transaction and where it is from. */
export interface Gentx {
  /** of the file */
  readonly name: string
  readonly json: Json
}

/** Declaration of an operator in a gentx. */
interface Declared {
  readonly message: MsgCreateValidator
  readonly publicKey: Uint8Array
  readonly rates: CommissionRates
  /** acoin */
  readonly amount: bigint
  /** `<node ID>@<host>:<port>` */
  readonly memo: string
}

const POOL = toBech32(moduleAddress(BONDED_POOL))

/**
 * Makes the validators of a draft out of the operators' transactions, in their order: each is signed by the operator, whose coins it delegates.
 * What an earlier collection made of the same draft is made anew.
 * @param types of what an Any in a transaction may hold
 * @returns the genesis, and how the operators' nodes are reached, `<node ID>@<host>:<port>`
 * @throws GenesisError for the first transaction that is wrong
 */
export function collectGentxs(
  draft: Genesis,
  gentxs: readonly Gentx[],
  types: JsonContext,
): { readonly genesis: Genesis; readonly peers: readonly string[] } {
  if (gentxs.length === 0) throw new GenesisError('', 'there must be at least one genesis tx')
  let genesis = withoutValidators(draft)
  const peers: string[] = []
  for (const gentx of gentxs) {
    const declared = readGentx(genesis, gentx, types)
    genesis = withValidator(genesis, declared, gentx.name)
    peers.push(declared.memo)
  }
  const { app_state } = genesis
  const collected = { ...genesis, app_state: { ...app_state, genutil: { gen_txs: gentxs.map(({ json }) => json) } } }
  checkGenesis(collected as Genesis)
  return { genesis: collected as Genesis, peers }
}

/**
 * Checks that the validators of a genesis that names genesis transactions are those that the operators have signed.
 * @throws GenesisError
 */
export function checkGentxs(genesis: Genesis, types: JsonContext): void {
  const signed = genesis.app_state.genutil?.gen_txs ?? []
  if (signed.length === 0) return
  const gentxs = signed.map((json, index) => ({ name: `app_state.genutil.gen_txs[${index}]`, json: json as Json }))
  const made = collectGentxs(genesis, gentxs, types).genesis
  if (canonicalJson(made) === canonicalJson(genesis)) return
  throw new GenesisError('app_state.staking', 'the validators differ from those that app_state.genutil.gen_txs create')
}

/** Returns the draft from which a genesis was collected: the stake of validators goes back to its delegators. */
function withoutValidators(genesis: Genesis): Genesis {
  const { genutil, ...app_state } = genesis.app_state
  const { auth, bank, staking } = app_state
  if (staking.validators.length > 0 && genutil === undefined) {
    throw new GenesisError('app_state.staking', 'it has validators but no genesis transactions, so it is not a draft')
  }
  const balances = new Map(bank.balances.map(({ address, coins }) => [address, BigInt(coins[0]!.amount)]))
  for (const { delegator_address, shares } of staking.delegations) {
    balances.set(delegator_address, (balances.get(delegator_address) ?? 0n) + BigInt(shares.split('.')[0]!))
  }
  balances.set(POOL, 0n)
  const accounts = auth.accounts.map((entry) =>
    'base_vesting_account' in entry ? withDelegated(entry, { vesting: 0n, free: 0n }) : entry,
  )
  return withBalances(
    {
      ...genesis,
      consensus: { ...genesis.consensus, validators: [] },
      app_state: {
        ...app_state,
        auth: { ...auth, accounts },
        staking: { ...staking, validators: [], delegations: [] },
      },
    },
    [...balances].map(([address, amount]) => ({ address, coins: genesisCoins(amount) })),
  )
}

/** @throws GenesisError when it does not decode, is not signed by the operator, or is not a MsgCreateValidator */
function readGentx(genesis: Genesis, { name, json }: Gentx, types: JsonContext): Declared {
  const fail = (problem: string): never => {
    throw new GenesisError('', `${name}: ${problem}`)
  }
  const transaction = decodeNativeTransaction(rawOf(json, types, fail), {
    chainId: genesis.chain_id,
    evmChainId: evmChainIdOf(genesis.chain_id)!,
    messages: MESSAGES,
  })
  if (isSdkError(transaction)) return fail(transaction.message)
  const [first, ...others] = transaction.messages
  if (first === undefined || others.length > 0) {
    return fail(`unexpected number of GenTx messages; got: ${transaction.messages.length}, expected: 1`)
  }
  if (first.handler.type.typeUrl !== MsgCreateValidator.typeUrl) {
    return fail(`unexpected GenTx message type; expected: MsgCreateValidator, got: ${first.handler.type.name}`)
  }
  const message = first.value as MsgCreateValidator
  const operator = parseAddress(message.validatorAddress, BECH32_OPERATOR)
  if (!equalBytes(operator, transaction.sender)) return fail('it is not signed by the operator')
  const { pubkey } = message
  if (pubkey?.typeUrl !== Ed25519PubKey.typeUrl) return fail('the consensus key is not an ed25519 key')
  const publicKey = Ed25519PubKey.decode(pubkey.value).key
  const { amount } = message.value
  const checked = checkNewValidator({ ...message, operator, publicKey, amount })
  if (isSdkError(checked)) return fail(checked.message)
  const minimumRate = parseDecimal(genesis.app_state.staking.params.min_commission_rate)!
  const tooLow = checkMinimumRate(checked.commission.rate, minimumRate)
  if (tooLow !== undefined) return fail(tooLow.message)
  if (message.value.denom !== BASE_DENOM) return fail(`expected ${BASE_DENOM}, not ${message.value.denom}`)
  return { message, publicKey, rates: checked.commission, amount, memo: transaction.memo }
}

function rawOf(json: Json, types: JsonContext, fail: (problem: string) => never): Uint8Array {
  try {
    const { body, authInfo, signatures } = Tx.fromJson(json, types)
    return TxRaw.encode({
      bodyBytes: TxBody.encode(body ?? TxBody.create()),
      authInfoBytes: AuthInfo.encode(authInfo ?? AuthInfo.create()),
      signatures,
    })
  } catch (error) {
    if (error instanceof JsonFormError) return fail(`failed to decode gentx: ${error.message}`)
    throw error
  }
}

function withValidator(genesis: Genesis, declared: Declared, name: string): Genesis {
  const { message, publicKey, amount } = declared
  const { app_state, consensus } = genesis
  const { auth, bank, staking } = app_state
  const delegator = toBech32(parseAddress(message.validatorAddress, BECH32_OPERATOR))
  const held = bank.balances.find(({ address }) => address === delegator)
  if (held === undefined) throw new GenesisError('', `${name}: account ${delegator} balance not in genesis state`)
  const balance = BigInt(held.coins[0]!.amount)
  if (balance < amount) {
    throw new GenesisError('', `${name}: insufficient fund for delegation ${delegator}: ${balance} < ${amount}`)
  }
  const input = {
    operator: parseAddress(delegator),
    selfDelegationAcoin: amount,
    consensusPublicKey: publicKey,
    moniker: message.description.moniker,
  }
  const now = BigInt(Math.floor(Date.parse(genesis.genesis_time) / 1000))
  const accounts = auth.accounts.map((entry) =>
    'base_vesting_account' in entry && entry.base_vesting_account.base_account.address === delegator
      ? withDelegated(entry, delegatedParts(vestingAt(genesisSchedule(entry), now), { vesting: 0n, free: 0n }, amount))
      : entry,
  )
  const bonded = staking.validators.reduce((sum, { tokens }) => sum + BigInt(tokens), amount)
  const balances = bank.balances
    .filter((entry) => entry !== held && entry.address !== POOL)
    .concat(
      { address: delegator, coins: genesisCoins(balance - amount) },
      { address: POOL, coins: genesisCoins(bonded) },
    )
  return withBalances(
    {
      ...genesis,
      consensus: {
        ...consensus,
        validators: [...consensus.validators, consensusRecord(input)],
      },
      app_state: {
        ...app_state,
        auth: { ...auth, accounts },
        staking: {
          ...staking,
          validators: [
            ...staking.validators,
            validatorOf(genesis, declared, stakingRecord(input, genesis.genesis_time)),
          ],
          delegations: [...staking.delegations, selfDelegation(input)],
        },
      },
    },
    balances,
  )
}

type ValidatorRecord = Genesis['app_state']['staking']['validators'][number]

/** Returns the validator as its operator described it, apart from its stake. */
function validatorOf(
  genesis: Genesis,
  { message: { description, minSelfDelegation }, rates }: Declared,
  record: ValidatorRecord,
): ValidatorRecord {
  return {
    ...record,
    description: {
      moniker: description.moniker,
      identity: description.identity,
      website: description.website,
      security_contact: description.securityContact,
      details: description.details,
    },
    commission: {
      commission_rates: {
        rate: formatDecimal(rates.rate),
        max_rate: formatDecimal(rates.maxRate),
        max_change_rate: formatDecimal(rates.maxChangeRate),
      },
      update_time: genesis.genesis_time,
    },
    min_self_delegation: minSelfDelegation.toString(),
  }
}

function withDelegated(
  entry: GenesisVestingAccount,
  { vesting, free }: { readonly vesting: bigint; readonly free: bigint },
): GenesisVestingAccount {
  const coins = (amount: bigint) => (amount === 0n ? [] : genesisCoins(amount))
  const base_vesting_account = {
    ...entry.base_vesting_account,
    delegated_free: coins(free),
    delegated_vesting: coins(vesting),
  }
  return { ...entry, base_vesting_account }
}
