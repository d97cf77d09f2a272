import { FORMS, type Form } from '../../figures/plot.js'
import { setParams } from '../address/address.js'

/** Chooses the form of the chart, in the address. */
export const FormSwitch = ({ form }: { readonly form: Form }) => (
  <fieldset class="switch forms">
    <legend class="hidden">Form of the chart</legend>
    {FORMS.map((name) => (
      <label key={name}>
        <input
          type="radio"
          name="chart"
          checked={name === form}
          onChange={() => setParams({ chart: name === 'bars' ? '' : name }, 'replace')}
        />
        {name}
      </label>
    ))}
  </fieldset>
)
