import { useId, useState } from 'react'
import type { AbiFunction, AbiParameter } from 'viem'
import { readArgument } from '../abi/readArgument.ts'

/** Inputs for the parameters of a function. */
export interface ArgumentsInput {
  readonly texts: readonly string[]
  readonly setText: (index: number, text: string) => void
  /** undefined: something is missing or wrong */
  readonly values: readonly unknown[] | undefined
  /** what is wrong with each; undefined: nothing, or nothing is typed yet */
  readonly problems: readonly (string | undefined)[]
}

export function useArguments(inputs: readonly AbiParameter[]): ArgumentsInput {
  const [texts, setTexts] = useState<readonly string[]>(inputs.map(() => ''))
  const values: unknown[] = []
  const problems = inputs.map((input, index) => {
    const text = texts[index]!
    // A text may be empty; where it is to be something else, nothing is typed yet.
    if (text === '' && input.type !== 'string') return undefined
    try {
      values.push(readArgument(input, text))
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  })
  return {
    texts,
    setText: (index, text) => setTexts(texts.map((own, at) => (at === index ? text : own))),
    values: values.length === inputs.length ? values : undefined,
    problems,
  }
}

/** A field for each parameter. */
export function ArgumentFields({
  inputs,
  input: { texts, setText, problems },
}: {
  readonly inputs: readonly AbiParameter[]
  readonly input: ArgumentsInput
}) {
  const id = useId()
  return inputs.map(({ name, type }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parameters may have no name
    <div className="field" key={index}>
      <label htmlFor={`${id}-${index}`}>
        {name || `argument ${index}`} <span className="type">{type}</span>
      </label>
      <input
        id={`${id}-${index}`}
        className="mono"
        autoComplete="off"
        spellCheck={false}
        value={texts[index]}
        aria-invalid={problems[index] !== undefined}
        aria-describedby={`${id}-${index}-problem`}
        onChange={({ target }) => setText(index, target.value)}
      />
      <span id={`${id}-${index}-problem`} className="bad">
        {problems[index] !== undefined && `Enter ${problems[index]}.`}
      </span>
    </div>
  ))
}

/** `add(uint256 by)`, to be told from another function of the same name. */
export function signatureOf({ name, inputs }: AbiFunction): string {
  return `${name}(${inputs.map((input) => `${input.type}${input.name ? ` ${input.name}` : ''}`).join(', ')})`
}
