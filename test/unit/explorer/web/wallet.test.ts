import fc from 'fast-check'
import { BaseError, ContractFunctionExecutionError, ExecutionRevertedError, UserRejectedRequestError } from 'viem'
import { describe, expect, it } from 'vitest'
import { formatUnits, parseUnits } from '../../../../explorer/web/src/format.ts'
import { ethereumChain, keplrChainInfo, walletChain } from '../../../../explorer/web/src/wallet/chain.ts'
import { walletProblem } from '../../../../explorer/web/src/wallet/walletProblem.ts'

const STATUS = {
  chainId: 'coin_76287-1',
  evmChainId: 76_287,
  firstHeight: 1,
  height: 5,
  nodeHeight: 5,
  hasFaucet: false,
  chainName: 'Testnet',
  coinSymbol: 'TEST',
  publicRpcUrl: 'https://rpc.example.org/coin/',
} as const

describe('amounts that people type', () => {
  it.each([
    ['1', 10n ** 18n],
    [' 0.5 ', 5n * 10n ** 17n],
    ['1.', 10n ** 18n],
    ['0.000000000000000001', 1n],
    ['007', 7n * 10n ** 18n],
    ['0', 0n],
    ['', undefined],
    ['.5', undefined],
    ['1,5', undefined],
    ['1e3', undefined],
    ['-1', undefined],
    ['0x10', undefined],
    ['0.0000000000000000001', undefined],
    ['1'.repeat(31), undefined],
    ['١', undefined],
  ])('%j', (text, expected) => {
    expect(parseUnits(text)).toBe(expected)
  })

  it('are what is shown of them', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 40n }), (amount) => {
        expect(parseUnits(formatUnits(amount.toString(), 18, 18).replaceAll(',', ''))).toBe(amount)
      }),
    )
  })
})

describe('what wallets learn of the chain', () => {
  const chain = walletChain(STATUS, 'https://explorer.example.org')!

  it('is what the operator has set', () => {
    expect(ethereumChain(chain)).toEqual({
      id: 76_287,
      name: 'Testnet',
      nativeCurrency: { name: 'TEST', symbol: 'TEST', decimals: 18 },
      rpcUrls: { default: { http: ['https://rpc.example.org/coin'] } },
      blockExplorers: { default: { name: 'Testnet explorer', url: 'https://explorer.example.org' } },
    })
    const currency = { coinDenom: 'TEST', coinMinimalDenom: 'acoin', coinDecimals: 18 }
    expect(keplrChainInfo(chain)).toMatchObject({
      chainId: 'coin_76287-1',
      chainName: 'Testnet',
      rpc: 'https://rpc.example.org/coin/rpc',
      rest: 'https://rpc.example.org/coin',
      evm: { chainId: 76_287, rpc: 'https://rpc.example.org/coin' },
      bip44: { coinType: 60 },
      bech32Config: { bech32PrefixAccAddr: 'coin', bech32PrefixValAddr: 'coinvaloper' },
      stakeCurrency: currency,
      currencies: [currency],
    })
  })

  it('leaves out an explorer that MetaMask would refuse', () => {
    const explorers = (origin: string) => ethereumChain(walletChain(STATUS, origin)!).blockExplorers
    expect(explorers('http://explorer.example.org')).toBeUndefined()
    expect(explorers('http://localhost:8090')).toBeDefined()
  })

  it.each(['chainId', 'evmChainId', 'publicRpcUrl'])('is nothing without %s', (name) => {
    expect(walletChain({ ...STATUS, [name]: null }, 'http://localhost')).toBeUndefined()
  })
})

const REFUSED = 'You rejected the request in the wallet.'
const TOO_FEW = 'The account has too few coins for the amount and the fee.'

describe('what went wrong in a wallet', () => {
  const reverted = new ExecutionRevertedError({
    cause: new BaseError('RPC Request failed.', { details: 'execution reverted: validator does not exist' }),
    message: 'execution reverted: validator does not exist',
  })
  it.each<readonly [string, unknown, string]>([
    ['a refusal', { code: 4001, message: 'MetaMask Tx Signature: User denied transaction signature.' }, REFUSED],
    ['a refusal within viem', new UserRejectedRequestError(new Error('no')), REFUSED],
    ['a refusal of Keplr', new Error('Request rejected'), REFUSED],
    ['a text', 'User closed: rejected', REFUSED],
    [
      'a question that is open',
      { code: -32002, message: 'already pending' },
      'The wallet has another request open. Open the wallet and answer it.',
    ],
    [
      'an unknown chain',
      { code: -32603, data: { originalError: { code: 4902 } } },
      'The wallet does not know this network. Add the network first.',
    ],
    [
      'an unknown chain in Keplr',
      new Error('There is no chain info for coin_1'),
      'The wallet does not know this network. Add the network first.',
    ],
    [
      'a refused network within wagmi',
      new UserRejectedRequestError(Object.assign(new Error("Expected an https URL for 'rpcUrls'"), { code: -32602 })),
      "Expected an https URL for 'rpcUrls'",
    ],
    ['a revert', reverted, 'The chain rejected the transaction: validator does not exist'],
    [
      'a revert of a call',
      new ContractFunctionExecutionError(reverted, { abi: [], functionName: 'vote' }),
      'The chain rejected the transaction: validator does not exist',
    ],
    [
      'a revert for want of coins',
      { code: 3, message: 'execution reverted: spendable balance 1acoin is smaller than 2acoin: insufficient funds' },
      TOO_FEW,
    ],
    ['no coins for gas', { code: -32000, message: 'insufficient funds for gas * price + value: balance 0' }, TOO_FEW],
    [
      'a simulation',
      new Error(
        "Query failed with (6): rpc error: code = Unknown desc = validator does not exist with gas used: '1234': unknown request",
      ),
      'The chain rejected the transaction: validator does not exist: unknown request',
    ],
    [
      'a broadcast',
      new Error('Broadcasting transaction failed with code 13 (codespace: sdk). Log: insufficient fee'),
      'The chain rejected the transaction: insufficient fee',
    ],
    [
      'an account without coins',
      new Error("Account 'coin1' does not exist on chain. Send some tokens there before trying to query sequence."),
      'This account has no coins yet, so it cannot pay a fee.',
    ],
    [
      'a server that is away',
      new TypeError('Failed to fetch'),
      'The RPC address of the network does not respond. Try again later.',
    ],
    ['something else', new Error('two\nlines   of it'), 'two lines of it'],
    ['nothing', undefined, 'The wallet failed and gave no reason.'],
    ['a number', 7, 'The wallet failed and gave no reason.'],
    ['null', null, 'The wallet failed and gave no reason.'],
  ])('%s', (_, error, text) => {
    expect(walletProblem(error)).toBe(text)
  })

  it('is one line of a bounded length, whatever was thrown', () => {
    const circle: { cause?: unknown; message: string } = { message: 'x'.repeat(100_000) }
    circle.cause = circle
    expect(walletProblem(circle).length).toBeLessThan(400)
    fc.assert(
      fc.property(fc.object({ key: fc.constantFrom('code', 'message', 'cause', 'data', 'details') }), (error) => {
        expect(walletProblem(error)).toMatch(/^[^\n]+$/)
      }),
    )
  })
})
