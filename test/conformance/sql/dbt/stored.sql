{{ config(materialized='table') }}
select * from {{ ref('spend') }}
