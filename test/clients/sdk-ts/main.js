// Injective's sdk-ts asks and sends over gRPC-Web in its text form; ends with 1 at the first answer that is not as expected.
import assert from 'node:assert/strict'
import {
  ChainGrpcBankApi,
  ChainGrpcDistributionApi,
  ChainGrpcGovApi,
  ChainGrpcMintApi,
  ChainGrpcStakingApi,
  ChainGrpcTendermintApi,
  createTransaction,
  getPublicKey,
  MsgSend,
  PrivateKey,
  TxGrpcApi,
} from '@injectivelabs/sdk-ts'

const { REST_URL, COSMOS_CHAIN_ID, PRIVATE_KEY } = process.env
const GAS_PRICE = 2_000_000_000n
const key = PrivateKey.fromHex(PRIVATE_KEY)
const sender = key.toPublicKey().toAddress().toBech32('coin')
const receiver = PrivateKey.generate().privateKey.toPublicKey().toAddress().toBech32('coin')

const bank = new ChainGrpcBankApi(REST_URL)
const balanceOf = async (address) =>
  BigInt((await bank.fetchBalance({ accountAddress: address, denom: 'acoin' })).amount)
assert.ok((await balanceOf(sender)) > 0n)
assert.deepEqual(
  (await bank.fetchTotalSupply()).supply.map(({ denom }) => denom),
  ['acoin'],
)
assert.equal((await bank.fetchDenomMetadata('acoin')).base, 'acoin')
const staking = new ChainGrpcStakingApi(REST_URL)
const { validators } = await staking.fetchValidators()
assert.equal(validators.length, 1)
assert.equal(
  (await staking.fetchValidator(validators[0].operatorAddress)).operatorAddress,
  validators[0].operatorAddress,
)
await staking.fetchPool()
await new ChainGrpcDistributionApi(REST_URL).fetchModuleParams()
await new ChainGrpcMintApi(REST_URL).fetchInflation()
await new ChainGrpcGovApi(REST_URL).fetchModuleParams()
const block = await new ChainGrpcTendermintApi(REST_URL).fetchLatestBlock()
assert.equal(block.header.chainId, COSMOS_CHAIN_ID)
await assert.rejects(staking.fetchValidator('nobody'), /decoding bech32|invalid/i)
console.log('queries of bank, staking, distribution, mint, gov and CometBFT services, and an error')

const account = await (await fetch(`${REST_URL}/cosmos/auth/v1beta1/account_info/${sender}`)).json()
// Its names of keys are those of its own chains: the type of this chain's keys is put in the place of theirs.
const pubKey = getPublicKey({ chainId: 'injective', key: key.toPublicKey().toBase64() })
pubKey.typeUrl = '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey'
const message = MsgSend.fromJSON({
  ...{ srcInjectiveAddress: sender, dstInjectiveAddress: receiver },
  amount: { denom: 'acoin', amount: '7' },
})
const sign = async (gas) => {
  const { txRaw, signBytes } = createTransaction({
    ...{ message, pubKey, chainId: COSMOS_CHAIN_ID, memo: 'sdk-ts' },
    accountNumber: Number(account.info.account_number),
    sequence: Number(account.info.sequence),
    fee: { gas: String(gas), amount: [{ denom: 'acoin', amount: String(BigInt(gas) * GAS_PRICE) }] },
  })
  txRaw.signatures = [await key.sign(signBytes)]
  return txRaw
}
const service = new TxGrpcApi(REST_URL)
const { gasInfo } = await service.simulate(await sign(200_000))
const sent = await service.broadcast(await sign(Math.ceil(gasInfo.gasUsed * 1.5)))
assert.equal(sent.code, 0, sent.rawLog)
assert.equal((await service.fetchTx(sent.txHash)).code, 0)
assert.equal(await balanceOf(receiver), 7n)
await assert.rejects(service.fetchTx('00'.repeat(32)), /tx(%20| )not(%20| )found/)
console.log('a transfer: Simulate, BroadcastTx, GetTx')
