{{ config(materialized='ephemeral') }}
select service, sum(cost_usd) as usd from {{ source('attribution', 'usage') }} group by service
