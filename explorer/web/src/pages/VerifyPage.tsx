import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { type FormEvent, useEffect, useId, useState } from 'react'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { Data } from '../parts/Data.tsx'
import { AddressLink } from '../parts/Names.tsx'
import { compilersQuery, type Submission, submitSources, verificationQuery } from '../verificationApi.ts'

/** Bytes that the explorer takes. */
const MAX_INPUT = 4 * 1024 * 1024

/** Content of a file that the reader selects. */
interface ReadInput {
  readonly input: unknown
  readonly sources: number
  /** the compiler that it names */
  readonly version: string | undefined
}

/** Sends the sources of a contract to be compared with its code. */
export function VerifyPage() {
  const { address } = useParams({ strict: false })
  const sending = useMutation({ mutationFn: (submission: Submission) => submitSources(submission) })
  return (
    <>
      <h1>Verify a contract</h1>
      <Card>
        <p className="quiet">
          The explorer compiles the sources and compares the result with the contract's bytecode. It finds constructor
          arguments, libraries and immutable variables itself. Forge and Hardhat can also verify contracts at this
          address.
        </p>
        <VerifyForm
          key={address ?? ''}
          address={address ?? ''}
          isPending={sending.isPending}
          onSubmit={(submission) => sending.mutate(submission)}
        />
        {sending.error !== null && (
          <p className="bad" role="alert">
            {sending.error.message}
          </p>
        )}
      </Card>
      {sending.data !== undefined && <Result key={sending.data} id={sending.data} />}
    </>
  )
}

function VerifyForm({
  address: initial,
  isPending,
  onSubmit,
}: {
  readonly address: string
  readonly isPending: boolean
  readonly onSubmit: (submission: Submission) => void
}) {
  const id = useId()
  const { data: compilers } = useQuery(compilersQuery)
  const [address, setAddress] = useState(initial)
  const [text, setText] = useState('')
  const [chosen, choose] = useState<string>()
  const [contract, setContract] = useState('')
  const read = text.trim() === '' ? undefined : readInput(text)
  const known = typeof read === 'object' ? compilers?.versions.find((version) => version === read.version) : undefined
  const version = chosen ?? known ?? compilers?.versions[0]
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (typeof read === 'object' && version !== undefined)
      onSubmit({ address: address.trim(), input: read.input, version, contract: contract.trim() })
  }
  return (
    <form className="form" onSubmit={submit}>
      <div className="field">
        <label htmlFor={`${id}-address`}>Contract address</label>
        <input
          id={`${id}-address`}
          className="mono"
          autoComplete="off"
          spellCheck={false}
          placeholder="0x… or coin1…"
          value={address}
          onChange={({ target }) => setAddress(target.value)}
        />
      </div>
      <div className="field">
        <label htmlFor={`${id}-file`}>Standard JSON input of solc, or Hardhat's build info, as a file</label>
        <input
          id={`${id}-file`}
          type="file"
          accept=".json,application/json"
          onChange={({ target }) => void target.files?.[0]?.text().then(setText)}
        />
      </div>
      <div className="field">
        <label htmlFor={`${id}-text`}>or pasted</label>
        <textarea
          id={`${id}-text`}
          className="mono"
          rows={10}
          spellCheck={false}
          value={text}
          aria-invalid={typeof read === 'string'}
          aria-describedby={`${id}-read`}
          onChange={({ target }) => setText(target.value)}
        />
        <span id={`${id}-read`} className={typeof read === 'string' ? 'bad' : 'quiet'}>
          {typeof read === 'object' ? `${read.sources} sources` : read}
        </span>
      </div>
      <div className="field">
        <label htmlFor={`${id}-compiler`}>Compiler</label>
        <select id={`${id}-compiler`} value={version} onChange={({ target }) => choose(target.value)}>
          {compilers?.versions.map((own) => (
            <option key={own}>{own}</option>
          ))}
        </select>
        {typeof read === 'object' && read.version !== undefined && known === undefined && (
          <span className="bad">
            The build info names the compiler {read.version}, which this explorer does not have. Choose another version.
          </span>
        )}
      </div>
      <div className="field">
        <label htmlFor={`${id}-contract`}>Path and name of the contract (optional: the explorer finds it)</label>
        <input
          id={`${id}-contract`}
          className="mono"
          autoComplete="off"
          spellCheck={false}
          placeholder="contracts/Vault.sol:Vault"
          value={contract}
          onChange={({ target }) => setContract(target.value)}
        />
      </div>
      <div className="actions">
        <button
          type="submit"
          className="main"
          disabled={isPending || typeof read !== 'object' || version === undefined || address.trim() === ''}
        >
          Verify
        </button>
      </div>
    </form>
  )
}

/** @returns a text: what is wrong with it */
function readInput(text: string): ReadInput | string {
  if (text.length > MAX_INPUT) return 'The input is larger than 4 MiB.'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return `The input is not valid JSON: ${(error as Error).message}`
  }
  // Build info contains the standard JSON and the version of the compiler.
  const { input = value, solcLongVersion } = (value ?? {}) as {
    readonly input?: unknown
    readonly solcLongVersion?: unknown
  }
  const { sources } = (input ?? {}) as { readonly sources?: unknown }
  if (typeof sources !== 'object' || sources === null)
    return 'The input has no sources. Choose the standard JSON input of solc, not its output.'
  const version = typeof solcLongVersion === 'string' ? solcLongVersion : undefined
  return { input, sources: Object.keys(sources).length, version }
}

/** The state of a request, and its result. */
function Result({ id }: { readonly id: string }) {
  const client = useQueryClient()
  const { data, error } = useQuery(verificationQuery(id))
  const isCompleted = data?.isJobCompleted === true
  useEffect(() => {
    if (isCompleted) void client.invalidateQueries({ queryKey: ['interface'] })
  }, [client, isCompleted])
  if (data === undefined) return <Note>{error === null ? 'Sent …' : error.message}</Note>
  const { address, match, runtimeMatch, creationMatch } = data.contract
  return (
    <Card title="Result">
      <div role="status">
        {!isCompleted ? (
          <p>Compiling and comparing …</p>
        ) : data.error !== undefined ? (
          <>
            <p className="bad">Not verified.</p>
            <Data>{data.error.message}</Data>
          </>
        ) : (
          <Facts
            facts={{
              Contract: <AddressLink address={address} isShort={false} />,
              Verified:
                match === 'exact_match' ? 'exact match: code and metadata are the same' : 'match: the code is the same',
              'Deployed code': runtimeMatch === null ? 'different' : runtimeMatch.replace('_', ' '),
              'Creation code': creationMatch === null ? 'not compared, or different' : creationMatch.replace('_', ' '),
            }}
          />
        )}
      </div>
    </Card>
  )
}
